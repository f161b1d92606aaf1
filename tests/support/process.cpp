#include "support/process.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <system_error>

namespace holdfast::support {
namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

// posix_spawn, because the child of a fork may do next to nothing before exec if we have threads.
Process::Process(const std::vector<std::string>& command,
                 const std::vector<std::string>& environment) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail(errno, "socketpair");
  channel_ = ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);

  auto arguments = command;
  auto variables = environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  const int error = posix_spawnp(&pid_, command.front().c_str(), &actions, nullptr,
                                 pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(channel_);
    fail(error, "cannot start " + command.front());
  }
}

Process::~Process() {
  kill();
  close(channel_);
}

void Process::send(const std::string& line) {
  const std::string bytes = line + '\n';
  if (::send(channel_, bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(bytes.size()))
    fail(errno, "cannot write to the process");
}

std::string Process::read(Millis bound) {
  const auto deadline = std::chrono::steady_clock::now() + bound;
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    const auto left = std::chrono::ceil<Millis>(deadline - std::chrono::steady_clock::now());
    pollfd ready{channel_, POLLIN, 0};
    if (left <= Millis(0) || poll(&ready, 1, static_cast<int>(left.count())) == 0)
      throw std::runtime_error("the process said nothing");
    char bytes[4096];
    const auto count = ::read(channel_, bytes, sizeof bytes);
    if (count <= 0) throw std::runtime_error("the process closed its output: " + unread_);
    unread_.append(bytes, static_cast<std::size_t>(count));
  }
}

void Process::stop() {
  ::kill(pid_, SIGSTOP);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOWAIT);
}

void Process::resume() { ::kill(pid_, SIGCONT); }

void Process::kill() {
  if (status_) return;
  ::kill(pid_, SIGKILL);
  wait();
}

void Process::close_input() { shutdown(channel_, SHUT_WR); }

std::optional<int> Process::wait(Millis bound) {
  eventually(
      [&] {
        int status = 0;
        if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
        return status_.has_value();
      },
      bound);
  return status_;
}

std::unique_ptr<Process> start_server(const std::vector<std::string>& command,
                                      const std::string& log_file,
                                      const std::vector<std::string>& environment) {
  std::vector<std::string> words = {"sh", "-c", R"(exec setpriv --pdeathsig KILL "$@" >>"$0" 2>&1)",
                                    log_file};
  words.insert(words.end(), command.begin(), command.end());
  return std::make_unique<Process>(words, environment);
}

}  // namespace holdfast::support
