// tests/support/own_clock.hpp: the clocks of this process, which a test moves.
//
//   auto lease = store.lock(name).acquire();   // for 30 s
//   jump(31s);                                 // as if the machine had slept that long
//   EXPECT_FALSE(lease->valid());
//
// Every test program and the peer define the functions of moved_clock.hpp, so the libraries that
// they load use these. The monotonic clock does not move, as in a real suspend; tests measure by
// it.
#pragma once

#include <string>

#include "holdfast/result.hpp"

namespace holdfast::support {

// Moves the boot clock and the wall clock together. Timers that are due by then fire.
void jump(Millis by);

// For the environment of a program with such clocks: its clocks begin where ours are, because
// programs on one machine agree about the time.
std::string jumps_so_far();

// Only the wall clock: this far ahead of what it would be, or behind.
void set_wall_clock_ahead(Millis by);

}  // namespace holdfast::support
