// next_delay: the pauses between trials at a store that sends no notification.
#include "holdfast/options.hpp"

#include <algorithm>

namespace holdfast {

using std::chrono::microseconds;

NextDelay spin() {
  return [](std::uint32_t, std::uint64_t) { return microseconds(0); };
}

NextDelay spin_then_sleep(std::uint32_t spins, Millis pause) {
  return [=](std::uint32_t attempt, std::uint64_t) {
    return attempt <= spins ? microseconds(0) : microseconds(pause);
  };
}

NextDelay sleep(Millis pause) {
  return [=](std::uint32_t, std::uint64_t) { return microseconds(pause); };
}

// Uniform between `least` and three times the previous upper bound, so that the trials of many
// waiters drift apart.
NextDelay decorrelated_jitter(Millis least, Millis most) {
  return [=](std::uint32_t attempt, std::uint64_t random) {
    const auto floor = std::max<std::int64_t>(microseconds(least).count(), 1);
    const auto ceiling = std::max(microseconds(most).count(), floor);
    auto upper = floor;
    for (std::uint32_t i = 0; i < attempt && upper < ceiling; ++i)
      upper = std::min(upper * 3, ceiling);
    const auto range = static_cast<std::uint64_t>(upper - floor) + 1;
    return microseconds(floor + static_cast<std::int64_t>(random % range));
  };
}

}  // namespace holdfast
