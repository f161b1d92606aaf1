// Passes the terminal between our process group, which is the shell's job, and the command's.
//
// The callers block all signals, SIGTTOU too, so that these calls work from the background.
#pragma once

#include <sys/types.h>

namespace holdfast::cli {

bool terminal_is_ours() noexcept;               // our group is in the foreground
void give_terminal(pid_t group) noexcept;       // if we have it
bool take_terminal_back(pid_t group) noexcept;  // true: `group`, or a group that is gone, had it

}  // namespace holdfast::cli
