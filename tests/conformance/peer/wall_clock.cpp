#include "peer/wall_clock.hpp"

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

namespace {

std::atomic<std::int64_t> ahead_ns = 0;

timespec real(clockid_t clock) {
  timespec now{};
  syscall(SYS_clock_gettime, clock, &now);
  return now;
}

timespec wall() {
  constexpr std::int64_t second = 1'000'000'000;
  const auto now = real(CLOCK_REALTIME);
  const std::int64_t all =
      now.tv_sec * second + now.tv_nsec + ahead_ns.load(std::memory_order_relaxed);
  return {all / second, all % second};
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  *now = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? wall() : real(clock);
  return 0;
}

extern "C" int gettimeofday(timeval* now, void*) noexcept {
  const auto exact = wall();
  *now = {exact.tv_sec, exact.tv_nsec / 1000};
  return 0;
}

extern "C" time_t time(time_t* now) noexcept {
  const auto seconds = wall().tv_sec;
  if (now != nullptr) *now = seconds;
  return seconds;
}

void holdfast::support::set_wall_clock_ahead(std::chrono::milliseconds by) {
  ahead_ns = std::chrono::nanoseconds(by).count();
}
