// From clone to exec: code that runs beside its parent's memory or in a copy of it, so nothing here
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
  const sigset_t* signals;         // the mask that the command starts with
  std::span<const int> inherited;  // descriptors for it, beside the standard ones
  std::atomic<pid_t>* group;       // where its process group is written, before it runs
  bool ignore_children = false;
  bool take_terminal = false;  // become the terminal's foreground group
};

// Runs it in a group of its own. The process, or 0 and errno.
pid_t launch_group(const Launch& launch) noexcept;

// What an init writes for its parent; `how` is of si_code (CLD_EXITED, …), or one of these.
struct Report {
  static constexpr int started = 0;
  static constexpr int failed = -1;  // `number` is errno
  int how;
  int number;
};

// Runs it in a pid namespace whose init is a child of ours and dies with us; with the init dies all
// that is in it. The init, or 0 and errno. `kept` are the descriptors that it keeps: the inherited
// ones and `reports`.
pid_t launch_namespace(const Launch& launch, int reports, std::span<const int> kept) noexcept;

bool namespaces_allowed() noexcept;

}  // namespace holdfast::cli
