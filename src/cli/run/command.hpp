// The command runs in its own process group, whose first process dies with its parent.
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

// Kills a group as long as it has children of this process, and waits until those are dead.
void kill_group(pid_t group) noexcept;

class Command {
 public:
  // Throws Failure with 126 or 127.
  void start(const Job& job, char* const* environment);

  int reports() const noexcept { return reports_.get(); }  // to poll beside SIGCHLD; -1: none
  void signal(int number) const noexcept;                  // to the whole group
  void terminate() const noexcept;                         // asks it to end, even if it is stopped
  void kill() const noexcept { kill_group(group_); }       // and waits until it is dead

  // Notes which children have stopped or ended.
  void collect() noexcept;
  std::optional<int> status() const noexcept { return status_; }  // ended: 0 to 255, or 128 + n
  int stopped_by() noexcept { return std::exchange(stopped_by_, 0); }  // since the last call
  bool gone() const noexcept;  // no child of this process is left in the group

 private:
  int launch(const Launch& launch, bool in_namespace);
  void note(int how, int number) noexcept;

  pid_t group_ = 0;
  Descriptor reports_;  // from the init of a pid namespace
  std::optional<int> status_;
  int stopped_by_ = 0;
};

// Replaces this process. Throws Failure with 126 or 127.
[[noreturn]] void exec_program(const Job& job, char* const* environment);

// Kills all children of this process except `spared`, and their children, who become ours.
void kill_tree(std::span<const pid_t> spared = {});
std::vector<pid_t> children_of_this_process();

// Throws Failure with 78 if the kernel or our rights do not allow the wanted --kill-tree.
void check_kill_tree(const Job& job);

}  // namespace holdfast::cli
