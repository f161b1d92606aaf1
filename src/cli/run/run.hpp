// holdfast run NAME -- COMMAND: hold NAME while COMMAND runs.
#pragma once

#include <span>

#include "cli/options.hpp"

namespace holdfast::cli {

// `all_arguments` are main's, with the program's name; the guard overwrites them with its own name.
int run(const Options& options, std::span<char*> all_arguments);

}  // namespace holdfast::cli
