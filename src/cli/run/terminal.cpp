#include "cli/run/terminal.hpp"

#include <unistd.h>

namespace holdfast::cli {

bool Terminal::ours() const noexcept {
  return ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

void Terminal::give(pid_t group) const noexcept {
  if (group != 0 && ours()) ::tcsetpgrp(STDIN_FILENO, group);
}

bool Terminal::take_back(pid_t group) const noexcept {
  if (group == 0 || ::isatty(STDIN_FILENO) != 1 || ::tcgetpgrp(STDIN_FILENO) != group) return false;
  return ::tcsetpgrp(STDIN_FILENO, ::getpgrp()) == 0;
}

}  // namespace holdfast::cli
