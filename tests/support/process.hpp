// tests/support/process.hpp: another program, which a test starts, and ends by its pid.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/eventually.hpp"

namespace holdfast::support {

// Talks in lines, over its input and output. The destructor kills it (SIGKILL) if it still runs.
class Process {
 public:
  explicit Process(
      const std::vector<std::string>& command,
      const std::vector<std::string>& environment = {});  // "NAME=value", added to our environment
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const noexcept { return pid_; }
  void send(const std::string& line);
  std::string read(Millis bound = patient);  // one line; throws if none comes
  std::string ask(const std::string& line) {
    send(line);
    return read();
  }

  void stop();    // SIGSTOP; returns when it has stopped
  void resume();  // SIGCONT
  void kill();    // SIGKILL; returns when it is gone
  void close_input();

  // The status from waitpid; empty if it still runs after the bound.
  std::optional<int> wait(Millis bound = patient);

 private:
  pid_t pid_ = -1;
  int channel_ = -1;
  std::string unread_;
  std::optional<int> status_;
};

// A server: its output goes to the log. If we die first, it ends with the thread that started it.
std::unique_ptr<Process> start_server(const std::vector<std::string>& command,
                                      const std::string& log_file,
                                      const std::vector<std::string>& environment = {});

// False if it ended before it served, or took too long.
template <class Serves>
bool comes_up(Process& server, Serves&& serves) {
  bool up = false;
  eventually([&] { return (up = serves()) || server.wait(Millis(0)); });
  return up;
}

}  // namespace holdfast::support
