#include "support/own_clock.hpp"

#include <atomic>
#include <cstdlib>

#include "support/moved_clock.hpp"

namespace holdfast::support {
namespace {

constexpr auto inherited = "HOLDFAST_TEST_JUMPS";

std::int64_t slept_before() {
  const char* before = std::getenv(inherited);
  return before ? std::atoll(before) : 0;
}

std::atomic<std::int64_t> slept_ns = slept_before();  // the sum of all jumps
std::atomic<std::int64_t> wall_ahead_ns = 0;          // on top of that

}  // namespace

ClockAhead clock_ahead() noexcept { return {.wall_ns = wall_ahead_ns, .slept_ns = slept_ns}; }

void before_a_timer_is_set() noexcept {}  // jump() itself sets them again

void jump(Millis by) {
  slept_ns += std::chrono::nanoseconds(by).count();
  set_all_timers_again();
}

std::string jumps_so_far() { return std::string(inherited) + "=" + std::to_string(slept_ns); }

void set_wall_clock_ahead(Millis by) { wall_ahead_ns = std::chrono::nanoseconds(by).count(); }

}  // namespace holdfast::support
