#include "cli/run/terminal.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace holdfast::cli {

bool terminal_is_ours() noexcept {
  return ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

void give_terminal(pid_t group) noexcept {
  if (group != 0 && terminal_is_ours()) ::tcsetpgrp(STDIN_FILENO, group);
}

bool take_terminal_back(pid_t group) noexcept {
  if (group == 0 || ::isatty(STDIN_FILENO) != 1) return false;
  const pid_t owner = ::tcgetpgrp(STDIN_FILENO);
  // A command that is a shell may have given the terminal to one of its jobs, which died with it.
  const bool gone = owner > 0 && ::kill(-owner, 0) != 0 && errno == ESRCH;
  return (owner == group || gone) && ::tcsetpgrp(STDIN_FILENO, ::getpgrp()) == 0;
}

}  // namespace holdfast::cli
