// Who may read the terminal: the shell's job, which is our process group, or the command's.
//
// All signals are blocked in who calls these, SIGTTOU too, so that the background may do it.
#pragma once

#include <sys/types.h>

namespace holdfast::cli {

bool terminal_is_ours() noexcept;               // our group is in the foreground
void give_terminal(pid_t group) noexcept;       // if it is ours
bool take_terminal_back(pid_t group) noexcept;  // true: the group, or one that is gone, had it

}  // namespace holdfast::cli
