// The command: a process group of its own, whose first process dies with its parent.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cli/run/launch.hpp"
#include "cli/run/system.hpp"

namespace holdfast::cli {

struct Job;

// Kills those of a group that are children of this process, and waits until they are dead.
void kill_group(pid_t group) noexcept;

class Command {
 public:
  // Throws Failure with 126 or 127.
  void start(const Job& job, char* const* environment);

  int reports() const noexcept { return reports_.get(); }  // to poll beside SIGCHLD; -1: none
  void signal(int number) const noexcept;                  // to the whole group
  void terminate() const noexcept;                         // asks it to end, even if it is stopped
  void kill() const noexcept { kill_group(group_); }       // and waits until it is dead

  // Takes note of what children have become.
  void collect() noexcept;
  std::optional<int> status() const noexcept { return status_; }  // ended: 0 to 255, or 128 + n
  int stopped_by() noexcept { return std::exchange(stopped_by_, 0); }  // since the last call
  bool gone() const noexcept;  // the whole group, as far as they are children of this process

 private:
  int launch(const Launch& launch, bool in_namespace);
  void note(int how, int number) noexcept;

  pid_t group_ = 0;
  Descriptor reports_;  // from the init of a pid namespace
  std::optional<int> status_;
  int stopped_by_ = 0;
};

// In place of this process. Throws Failure with 126 or 127.
[[noreturn]] void exec_program(const Job& job, char* const* environment);

// Kills all children of this process, and theirs, as they become ours; all but those in `spared`.
void kill_tree(std::span<const pid_t> spared = {});
std::vector<pid_t> children_of_this_process();

// Throws Failure with 78 if this kernel or these rights do not allow what is asked for.
void check_kill_tree(const Job& job);

}  // namespace holdfast::cli
