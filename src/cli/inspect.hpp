// ls, show and watch: who holds what, since when, until when, and who waits.
#pragma once

#include "cli/options.hpp"

namespace holdfast::cli {

int ls(const Options& options);
int show(const Options& options);
int watch(const Options& options);

}  // namespace holdfast::cli
