#include "stores/common/clock.hpp"

#include <algorithm>

namespace holdfast::stores {

bool poll_until(std::span<pollfd> polled, BootTime until) noexcept {
  using namespace std::chrono;
  // No sleep is longer than an hour: the kernel counts it on a clock that stands still in suspend.
  const BootTime now = BootClock::now();
  const nanoseconds left = until <= now ? 0ns : std::min<nanoseconds>(until - now, 1h);
  timespec timeout{};
  timeout.tv_sec = duration_cast<seconds>(left).count();
  timeout.tv_nsec = (left % 1s).count();
  return ppoll(polled.data(), polled.size(), &timeout, nullptr) > 0;
}

}  // namespace holdfast::stores
