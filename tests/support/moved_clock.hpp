// tests/support/moved_clock.hpp: clock_gettime, gettimeofday, time, timerfd_settime and syscall for
// a program whose clocks a test moves. Linked into every test program (own_clock) and loaded into
// other programs (clock_shim); each of these two says how far ahead the clocks are.
//
// syscall, because gRPC uses it to wait until a time of the wall clock. The kernel's clock does not
// move, so such a wait would last longer by as much as the clock is ahead.
//
// No mutex, because a test may fork at any moment. No allocation and no dlsym, because jemalloc
// asks for the time before either works.
#pragma once

#include <cstdint>

namespace holdfast::support {

struct ClockAhead {
  std::int64_t wall_ns;   // the wall clock only
  std::int64_t slept_ns;  // the wall clock and the boot clock; never the monotonic clock
};

// Defined by own_clock and by clock_shim.
ClockAhead clock_ahead() noexcept;
void before_a_timer_is_set() noexcept;

// Call it after slept_ns changes, because the kernel does not know: timers of the boot clock that
// are due by then fire.
void set_all_timers_again() noexcept;

}  // namespace holdfast::support
