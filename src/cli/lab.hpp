// holdfast lab: the laboratory is a separate program beside this one, because its core has switches
// that break it on purpose.
#pragma once

#include "cli/options.hpp"

namespace holdfast::cli {

int lab(const Options& options);  // becomes that program, or throws Failure

}  // namespace holdfast::cli
