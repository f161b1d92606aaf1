// The time faults of docs/faults.md (T): the wall clock of one process jumps; nothing
// that a lock decides depends on it. Elsewhere: T03 and T04 in redis/clock_test, T09 in loss_test
// and guard_test.

#include <future>

#include "faults/outlives.hpp"
#include "support/faulty.hpp"
#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class TimeFaults : public Conformance {
 protected:
  Peer peer{world.url()};
};
HOLDFAST_ON_EVERY_STORE(TimeFaults);
class TimeFaultsClock : public TimeFaults {};
HOLDFAST_ON_EVERY_STORE(TimeFaultsClock);

// A jump ahead may be a pause of the machine that the boot clock did not count, so valid() says no
// until a renewal has shown that it was none (T10).
TEST_P(TimeFaults, T01JumpsOfTheWallClock) {
  peer.acquire(name);
  for (const auto hours : {1, -1, 0, 24 * 365, -24 * 365, 0}) {
    EXPECT_EQ(peer.ask("wall_clock " + std::to_string(hours * 3'600'000L)), "ok");
    EXPECT_TRUE(eventually([&] { return peer.ask("valid " + name) == "yes"; })) << hours;
    EXPECT_EQ(peer.ask("lost " + name), "no") << hours;
  }
  EXPECT_TRUE(outlives_its_ttl(peer, name, world));
  EXPECT_EQ(peer.ask("valid " + name), "yes");
  EXPECT_EQ(peer.ask("release " + name), "released");
}

TEST_P(TimeFaults, T01ManyJumpsOfTheWallClock) {
  peer.acquire(name);
  EXPECT_EQ(peer.ask("wild_clock"), "ok");
  EXPECT_TRUE(outlives_its_ttl(peer, name, world));
  EXPECT_TRUE(outlives_its_ttl(peer, name, world));
  EXPECT_EQ(peer.ask("lost " + name), "no");
  EXPECT_EQ(peer.ask("wall_clock 0"), "ok");
  EXPECT_TRUE(eventually([&] { return peer.ask("valid " + name) == "yes"; }));
}

TEST_P(TimeFaultsClock, T01WaitsKeepTheirLength) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  peer.acquire(name);  // Connects first: certificates are judged by the wall clock.
  EXPECT_EQ(peer.ask("release " + name), "released");
  const auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  EXPECT_EQ(peer.ask("wild_clock"), "ok");
  const auto start = std::chrono::steady_clock::now();
  // Long enough for the store to say that it is held, even on a machine that stands still for 2 s.
  EXPECT_EQ(peer.ask("acquire " + name + " wait=3000").substr(0, 10), "error busy");
  EXPECT_GE(std::chrono::steady_clock::now() - start, 2990ms);
}

// The machine was paused and its boot clock with it: only the wall clock tells. A holder may have
// lost its lock, so the lease does not count until a renewal, which starts at once, has come back.
TEST_P(TimeFaults, T10APauseThatOnlyTheWallClockTells) {
  FaultyClient alice(world.url());
  const auto lease = alice.store().lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  ASSERT_TRUE(world.renewed(*lease, alice.store()));
  EXPECT_TRUE(lease->valid());
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
  const int before = alice.seen(keeping);
  set_wall_clock_ahead(10min);
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(eventually([&] { return alice.seen(keeping) > before; }));
  EXPECT_FALSE(lease->valid());
  alice.heal();
  EXPECT_TRUE(eventually([&] { return lease->valid(); }));
  set_wall_clock_ahead(0ms);  // A jump back is no pause.
  EXPECT_TRUE(lease->valid());
  EXPECT_FALSE(lease->lost().stop_requested());
  EXPECT_EQ(alice.store().stats().lost, 0U);
}

// Holder and waiter disagree by a year about the time of day.
TEST_P(TimeFaults, T07ProcessesWithDifferentWallClocks) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  const auto bob = world.client();
  const auto year = std::to_string(365L * 24 * 3'600'000);
  peer.acquire(name);  // Connects first.
  EXPECT_EQ(peer.ask("release " + name), "released");
  for (const auto& ahead : {year, "-" + year}) {
    EXPECT_EQ(peer.ask("wall_clock " + ahead), "ok");
    auto token = peer.acquire(name);
    auto waiter = std::async(std::launch::async, [&] { return take_at_once(alice, name); });
    ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1 && holding(bob, name) == 1; }));
    EXPECT_EQ(peer.ask("valid " + name), "yes");
    EXPECT_EQ(peer.ask("release " + name), "released");
    auto lease = waiter.get();
    ASSERT_TRUE(succeeded(lease));
    if (world.traits().tokens) {
      EXPECT_GT(lease->token(), token);
    }
    token = lease->token();
    peer.start_acquire(name);
    ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1 && holding(bob, name) == 1; }));
    EXPECT_TRUE(lease->valid());
    EXPECT_TRUE(succeeded(lease->release()));
    const auto next = peer.acquired();
    if (world.traits().tokens) {
      EXPECT_GT(next, token);
    }
    EXPECT_EQ(peer.ask("release " + name), "released");
  }
}

}  // namespace
}  // namespace holdfast
