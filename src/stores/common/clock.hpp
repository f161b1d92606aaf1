// stores/common/clock.hpp: the boot clock in the units that stores and poll(2) use.
#pragma once

#include <poll.h>

#include <cstdint>
#include <span>

#include "holdfast/backend.hpp"

namespace holdfast::stores {

inline std::int64_t to_us(BootTime time) noexcept {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}
inline std::int64_t now_us() noexcept { return to_us(BootClock::now()); }

// poll(2) until a moment of the boot clock. True if any descriptor is ready.
bool poll_until(std::span<pollfd> polled, BootTime until) noexcept;

}  // namespace holdfast::stores
