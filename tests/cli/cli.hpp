// tests/cli/cli.hpp: the real command, started as a shell would start it. Each test has a folder
// and a store of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/eventually.hpp"
#include "support/files.hpp"

namespace holdfast::cli_test {

using support::eventually;
using support::patient;
using Words = std::vector<std::string>;

struct Outcome {
  int code = -1;  // minus the signal, if one ended it
  std::string out;
  std::string err;
};

// A running `holdfast`, in a session of its own. Killed by its pid if the test did not wait for it.
class Running {
 public:
  struct Plan {
    std::string folder;
    Words arguments;
    std::map<std::string, std::optional<std::string>> environment;  // changes; nullopt: unset
    std::function<void()> before_exec;                              // in the child
    bool status = false;  // --status-fd 9, which the test reads
  };
  explicit Running(const Plan& plan);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  pid_t pid() const noexcept { return pid_; }
  pid_t guard() const;  // waits until there is one
  void signal(int number) const;
  std::string line();                                 // the next of --status-fd; "" at the end
  std::string line_after(const std::string& passed);  // the next that is not `passed`
  Outcome wait();
  bool over();

 private:
  pid_t pid_ = -1;
  int status_ = -1;
  std::string unread_;
  std::string out_;
  std::string err_;
  std::optional<int> code_;
};

class Cli : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string store() const { return "sqlite:" + path("locks.db"); }
  std::string read(const std::string& name) const;
  void write(const std::string& name, const std::string& text) const;

  // With HOLDFAST_STORE set to store().
  Outcome holdfast(const Words& arguments) { return Running(plan(arguments)).wait(); }
  std::unique_ptr<Running> start(const Words& arguments);  // `run`: with --status-fd
  Running::Plan plan(const Words& arguments) const;

  // The pid that a process of the command wrote to `file`.
  pid_t pid_in(const std::string& file) const;

  // A command that keeps the file "oracle" locked for as long as it lives. After `ready` it writes
  // its pid.
  Words witnessed(const std::string& then = "exec sleep 1000",
                  const std::string& ready = ":") const;
  // A command that fails if such a command is alive.
  Words alone() const { return {"flock", "-n", path("oracle"), "true"}; }

  support::TempFolder folder_;
  std::map<std::string, std::optional<std::string>> environment_;  // changes, for every plan
};

bool alive(pid_t process);
std::string state_of(pid_t process);  // R, S, T, Z …, from /proc; "": gone
std::vector<pid_t> children_of(pid_t process);
Words operator+(Words first, const Words& second);
std::size_t lines_in(const std::string& text);

extern const std::string binary;  // as built, or what the variable HOLDFAST_BINARY names

}  // namespace holdfast::cli_test
