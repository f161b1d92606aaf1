// holdfast lab: the laboratory is a program of its own beside this one, for its core has switches
// that break it on purpose.
#pragma once

#include "cli/options.hpp"

namespace holdfast::cli {

int lab(const Options& options);  // becomes that program; returns never, or throws Failure

}  // namespace holdfast::cli
