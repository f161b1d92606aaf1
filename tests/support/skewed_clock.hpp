// tests/support/skewed_clock.hpp: clocks of other processes, which a test moves while they run.
//
//   SkewedClock clock;
//   RedisServer server({.environment = clock.environment()});
//   clock.set_ahead(-1h);
#pragma once

#include <string>
#include <vector>

#include "holdfast/result.hpp"
#include "support/files.hpp"
#include "support/moved_clock.hpp"

namespace holdfast::support {

class SkewedClock {
 public:
  SkewedClock();
  ~SkewedClock();
  SkewedClock(const SkewedClock&) = delete;
  SkewedClock& operator=(const SkewedClock&) = delete;

  std::vector<std::string> environment() const;  // of the processes that use this clock
  void set_ahead(Millis by) noexcept;            // the wall clock only
  // The boot clock and the wall clock, as if the machine had slept that long. Timers of those
  // processes that are due by then fire.
  void jump(Millis by) noexcept;

 private:
  TempFolder folder_;
  volatile ClockAhead* ahead_;  // shared with the shim in those processes
};

}  // namespace holdfast::support
