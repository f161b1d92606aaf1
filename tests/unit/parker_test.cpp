// Goal: no wake-up is lost, whichever way a thread sleeps, and none stays signalled for ever.
#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "runtime/system.hpp"

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

constexpr int too_long_ms = 20'000;

bool rings(int descriptor, int timeout_ms = 0) {
  pollfd polled{descriptor, POLLIN, 0};
  return ::poll(&polled, 1, timeout_ms) > 0;
}

BootTime much_later() { return BootClock::now() + 1h; }

TEST(Parker, AnUnparkBeforehandIsNotSleptThrough) {
  Parker parker;
  bool slept = false;
  const auto sleep = [&](int) { slept = true; };
  parker.unpark();
  parker.park(much_later());
  parker.unpark();
  parker.park_in(much_later(), false, sleep);
  EXPECT_FALSE(slept);
  parker.park_in(much_later(), false, sleep);
  EXPECT_TRUE(slept);
}

TEST(Parker, AThreadThatLooksNeedsNoRingFromItself) {
  Parker parker;
  for (const bool looks : {true, false, true}) {
    parker.park_in(much_later(), looks, [&](int wake) {
      EXPECT_FALSE(rings(wake));
      parker.unpark();
      EXPECT_EQ(rings(wake), !looks);
    });
  }
}

TEST(Parker, ALateRingIsHeardOnce) {
  Parker parker;
  for (int round = 0; round < 3; ++round)
    parker.park_in(much_later(), true, [&](int wake) {
      EXPECT_FALSE(rings(wake));
      std::jthread([&] { parker.unpark(); }).join();
      parker.unpark();
      EXPECT_TRUE(rings(wake));
    });
  parker.park_in(much_later(), true, [&](int wake) { EXPECT_FALSE(rings(wake)); });
}

// Each side sleeps in one of the two ways until the other has moved.
TEST(Parker, TwoThatPassATurnNeverBothSleep) {
  constexpr int rounds = 20'000;
  Parker parkers[2];
  std::atomic<int> turn{0};
  const auto play = [&](int me) {
    for (int round = 0; round < rounds; ++round) {
      for (int tries = 0; turn.load() % 2 != me; ++tries) {
        ASSERT_LT(tries, 100);
        const auto until = BootClock::now() + 20s;
        if (round % 3 == 0)
          parkers[me].park(until);
        else
          parkers[me].park_in(until, round % 3 == 1, [](int wake) { rings(wake, too_long_ms); });
      }
      ++turn;
      parkers[1 - me].unpark();
    }
  };
  std::jthread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(turn, 2 * rounds);
}

}  // namespace
}  // namespace holdfast::detail
