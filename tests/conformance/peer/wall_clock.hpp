// tests/conformance/peer/wall_clock.hpp: a wall clock that jumps, for this process alone.
//
// clock_gettime, gettimeofday and time are defined by the program itself, and so are the ones that
// its libraries find. Clocks that nobody can set are passed on as they are.
#pragma once

#include <chrono>

namespace holdfast::support {

void set_wall_clock_ahead(std::chrono::milliseconds by);

}  // namespace holdfast::support
