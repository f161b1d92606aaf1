// From clone to exec, code runs in its parent's memory or in a copy of it, so nothing here
// allocates or throws.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <csignal>
#include <span>

namespace holdfast::cli {

struct Launch {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const sigset_t* signals;         // the signal mask that the command starts with
  std::span<const int> inherited;  // descriptors that it keeps, beside the standard ones
  std::atomic<pid_t>* group;       // its process group is stored here before it runs
  bool ignore_children = false;
  bool take_terminal = false;  // become the terminal's foreground group
};

// Runs the command in its own process group. Returns the process, or 0 and sets errno.
pid_t launch_group(const Launch& launch) noexcept;

// What the init writes to its parent; `how` is an si_code (CLD_EXITED, …) or one of these.
struct Report {
  static constexpr int started = 0;
  static constexpr int failed = -1;  // `number` is errno
  int how;
  int number;
};

// Runs the command in a pid namespace. Its init is our child and dies with us, and all processes in
// the namespace die with the init. Returns the init, or 0 and sets errno. The init keeps the
// descriptors in `kept`: the inherited ones and `reports`.
pid_t launch_namespace(const Launch& launch, int reports, std::span<const int> kept) noexcept;

bool namespaces_allowed() noexcept;

}  // namespace holdfast::cli
