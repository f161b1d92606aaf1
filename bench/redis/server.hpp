// A redis-server of the benchmark's own, and the number of requests that it gets.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "redis/bare.hpp"

namespace bench::redis {

inline int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  const bool got =
      probe >= 0 && ::bind(probe, raw, size) == 0 && ::getsockname(probe, raw, &size) == 0;
  ::close(probe);
  if (!got) throw std::runtime_error("there is no free port");
  return ntohs(address.sin_port);
}

// Nothing is kept on disk. It ends with this object, or with the process that made it.
class Server {
 public:
  explicit Server(const std::string& folder) : port_(free_port()), pid_(start(folder)) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!answers()) {
      if (std::chrono::steady_clock::now() > give_up || ::waitpid(pid_, nullptr, WNOHANG) != 0)
        throw std::runtime_error("redis-server did not start: see its log in " + folder);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  int port() const { return port_; }
  pid_t pid() const { return pid_; }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

 private:
  pid_t start(const std::string& folder) const {
    const std::string port = std::to_string(port_);
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child > 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(::open("/dev/null", O_RDWR | O_CLOEXEC), STDOUT_FILENO);
    ::execlp("redis-server", "redis-server", "--bind", "127.0.0.1", "--port", port.c_str(),
             "--save", "", "--appendonly", "no", "--dir", folder.c_str(), "--logfile", "redis.log",
             nullptr);
    ::_exit(127);
  }
  bool answers() const {
    try {
      Bare(port_).command({"PING"});
      return true;
    } catch (const std::exception&) {  // Not yet there, or still loading.
      return false;
    }
  }

  int port_;
  pid_t pid_;
};

// Counts the requests that clients send, from its construction to count(). The server's own
// counters include the calls inside scripts; MONITOR tells them apart. It slows the server, so
// nothing is timed meanwhile.
class Requests {
 public:
  explicit Requests(int port) : port_(port), monitor_(port) { monitor_.command({"MONITOR"}); }

  std::uint64_t count() {
    constexpr std::string_view end = "\"bench: no more is counted\"";
    Bare(port_).command({"ECHO", end.substr(1, end.size() - 2)});
    std::uint64_t requests = 0;
    while (true) {
      const auto reply = monitor_.next();
      const std::string_view line(reply->str, reply->len);  // TIME [DATABASE CLIENT] "COMMAND" …
      if (line.ends_with(end)) return requests;
      requests += !line.substr(0, line.find(']')).ends_with(" lua");
    }
  }

 private:
  int port_;
  Bare monitor_;
};

}  // namespace bench::redis
