#include "stores/common/clock.hpp"

#include <algorithm>

namespace holdfast::stores {

bool poll_until(std::span<pollfd> polled, BootTime until) noexcept {
  using namespace std::chrono;
  // At most an hour, because the kernel counts a sleep on a clock that stops during suspend.
  const BootTime now = BootClock::now();
  const nanoseconds left = until <= now ? 0ns : std::min<nanoseconds>(until - now, 1h);
  timespec timeout{};
  timeout.tv_sec = duration_cast<seconds>(left).count();
  timeout.tv_nsec = (left % 1s).count();
  return ppoll(polled.data(), polled.size(), &timeout, nullptr) > 0;
}

}  // namespace holdfast::stores
