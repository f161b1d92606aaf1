#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <ctime>
#include <thread>

#include "support/eventually.hpp"
#include "support/own_clock.hpp"

namespace holdfast::support {
namespace {

using namespace std::chrono_literals;

// gRPC's threads wait like this. One that slept on for the length of a jump held up all calls.
TEST(MovedClock, AWaitByTheWallClockEndsWhenItsTimeHasCome) {
  jump(24h);
  timespec now{};
  ASSERT_EQ(clock_gettime(CLOCK_REALTIME, &now), 0);
  std::uint32_t word = 0;
  std::atomic<int> outcome = -1;
  std::thread waiting([&] {
    const long result =
        syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, 0,
                &now, nullptr, FUTEX_BITSET_MATCH_ANY);
    outcome = result == 0 ? 0 : errno;
  });
  EXPECT_TRUE(eventually([&] { return outcome == ETIMEDOUT; }));
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  waiting.join();
}

}  // namespace
}  // namespace holdfast::support
