// tests/support/skewed_clock.hpp: a wall clock of a server's own, which a test sets while it runs.
//
//   SkewedClock clock;
//   RedisServer server({.environment = clock.environment()});
//   clock.set_ahead(-1h);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/result.hpp"
#include "support/files.hpp"

namespace holdfast::support {

class SkewedClock {
 public:
  SkewedClock();
  ~SkewedClock();
  SkewedClock(const SkewedClock&) = delete;
  SkewedClock& operator=(const SkewedClock&) = delete;

  std::vector<std::string> environment() const;  // of the process that is to have it
  void set_ahead(Millis by) noexcept;

 private:
  TempFolder folder_;
  volatile std::int64_t* ahead_;  // nanoseconds, shared with the shim in that process
};

}  // namespace holdfast::support
