// Who may read the terminal: the shell's job, which is our process group, or the command's.
#pragma once

#include <sys/types.h>

namespace holdfast::cli {

// All signals are blocked, SIGTTOU too, so that a background process may do this.
class Terminal {
 public:
  bool ours() const noexcept;                  // our group is in the foreground
  void give(pid_t group) const noexcept;       // if it is ours
  bool take_back(pid_t group) const noexcept;  // true: the group had it
};

}  // namespace holdfast::cli
