// break, init and version.
#pragma once

#include "cli/options.hpp"

namespace holdfast::cli {

int break_lock(const Options& options);
int init(const Options& options);
int version(const Options& options);

}  // namespace holdfast::cli
