// Finds the command's file, before the lock is taken (P09).
#pragma once

#include <string>

namespace holdfast::cli {

// Searches as execvp does. Throws Failure with 127 (not found) or 126 (not executable).
std::string find_program(const std::string& name);

}  // namespace holdfast::cli
