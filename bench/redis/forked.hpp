// Processes made by fork, the memory they share, and what they use.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

// Make it before the processes that share it.
template <class T>
class Shared {
 public:
  Shared() {
    void* const room =
        ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) throw std::bad_alloc();
    value_ = new (room) T;
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { ::munmap(value_, sizeof(T)); }
  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  T* value_;
};

// Its maker must have no threads, and so no open store. No child outlives this object.
class Forked {
 public:
  template <class Body>
  Forked(std::size_t count, Body&& body) {
    for (std::size_t number = 0; number < count; ++number) {
      const pid_t child = ::fork();
      if (child == 0) run([&] { body(number); });
      if (child > 0) running_.push_back(child);
    }
    if (running_.size() < count) fail("fork failed");
  }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;
  ~Forked() { end(); }

  const std::vector<pid_t>& running() const { return running_; }

  // Throws if a process has failed.
  void check() { reap(WNOHANG); }
  void join() {
    while (!running_.empty()) reap(0);
  }

 private:
  template <class Body>
  [[noreturn]] static void run(Body&& body) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      body();
      ::_exit(0);
    } catch (const std::exception& trouble) {
      std::fprintf(stderr, "a process: %s\n", trouble.what());
      ::_exit(1);
    }
  }
  void reap(int how) {
    std::erase_if(running_, [&](pid_t child) {
      int status = 0;
      if (::waitpid(child, &status, how) != child) return false;
      if (status != 0) failed_ = status;
      return true;
    });
    if (WIFSIGNALED(failed_))
      fail("a process was ended by signal " + std::to_string(WTERMSIG(failed_)));
    if (failed_ != 0) fail("a process failed");
  }
  [[noreturn]] void fail(const std::string& why) {
    end();
    throw std::runtime_error(why);
  }
  void end() {
    for (const pid_t child : running_) ::kill(child, SIGKILL);
    for (const pid_t child : running_) ::waitpid(child, nullptr, 0);
    running_.clear();
  }

  std::vector<pid_t> running_;
  int failed_ = 0;  // a status of waitpid()
};

inline double processor_seconds(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Pages shared with others count in part, so that a sum over processes is right.
inline double proportional_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/smaps_rollup");
  for (std::string word; file >> word;)
    if (word == "Pss:") break;
  double kibibytes = 0;
  file >> kibibytes;
  return kibibytes * 1024;
}

}  // namespace bench
