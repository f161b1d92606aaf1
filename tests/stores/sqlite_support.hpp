// tests/stores/sqlite_support.hpp: folders, files and other processes for tests of the SQLite
// store.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "stores/recorder.hpp"

namespace holdfast::testing_support {

class Folder {
 public:
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "holdfast-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name = "locks.db") const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline Url sqlite_url(const std::string& path) {
  Url url;
  url.scheme = "sqlite";
  url.path = path;
  return url;
}

class SqliteClient : public Client {
 public:
  explicit SqliteClient(const std::string& path)
      : Client(holdfast_module()->open, sqlite_url(path)) {}
};

// Runs one statement on a file from outside, as an administrator would.
inline std::string sql(const std::string& path, const std::string& statement) {
  sqlite3* database = nullptr;
  std::string result;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  char* error = nullptr;
  sqlite3_exec(
      database, statement.c_str(),
      [](void* to, int, char** values, char**) {
        *static_cast<std::string*>(to) = values[0] ? values[0] : "";
        return 0;
      },
      &result, &error);
  EXPECT_EQ(error, nullptr) << error;
  sqlite3_free(error);
  sqlite3_close(database);
  return result;
}

// For a child process that needs the right to mount or to set clocks.
inline void enter_namespace(int kind) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  ASSERT_EQ(unshare(kind | (user == 0 ? 0 : CLONE_NEWUSER)), 0)
      << "this test needs root or user namespaces: " << errno;
  if (user == 0) return;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << user << " " << user << " 1";
  std::ofstream("/proc/self/gid_map") << group << " " << group << " 1";
}

// Another process. Fork it before this one opens a store: a child cannot use its parent's.
class Peer {
 public:
  class Line {
   public:
    explicit Line(int fd) : fd_(fd) {}
    void say(std::string_view word) const {
      EXPECT_EQ(send(fd_, word.data(), word.size(), MSG_NOSIGNAL), ssize_t(word.size()));
    }
    std::string hear() const {
      char word[256];
      const ssize_t size = recv(fd_, word, sizeof word, 0);
      return size > 0 ? std::string(word, static_cast<std::size_t>(size)) : std::string();
    }

   private:
    int fd_;
  };

  explicit Peer(const std::function<void(const Line&)>& life) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      life(Line(ends[1]));
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    close(ends[1]);
    end_ = ends[0];
  }
  ~Peer() {
    close(end_);
    if (pid_ > 0) finish();
  }
  void say(std::string_view word) const { Line(end_).say(word); }
  std::string hear() const { return Line(end_).hear(); }
  void kill() {
    ::kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
  }
  // The exit status: 0 if all was well in the child.
  int finish() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int end_ = -1;
};

}  // namespace holdfast::testing_support
