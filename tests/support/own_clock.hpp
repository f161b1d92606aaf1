// tests/support/own_clock.hpp: the clocks of this process, which a test moves.
//
//   auto lease = store.lock(name).acquire();   // for 30 s
//   jump(31s);                                 // as if the machine had slept for so long
//   EXPECT_FALSE(lease->valid());
//
// Every test program and the peer define the functions of moved_clock.hpp, so the libraries that
// they load find these. The monotonic clock stays as it is, as it does in a real suspend; tests
// measure by it.
#pragma once

#include <string>

#include "holdfast/result.hpp"

namespace holdfast::support {

// The boot clock and the wall clock go ahead together. Timers that are due by then fire.
void jump(Millis by);

// For the environment of a program that has such clocks as well: it begins with ours, as two
// programs on one machine do.
std::string jumps_so_far();

// The wall clock alone: this much ahead of what it would be, or behind.
void set_wall_clock_ahead(Millis by);

}  // namespace holdfast::support
