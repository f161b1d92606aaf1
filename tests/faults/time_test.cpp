// The time faults of the fault catalogue (T): the wall clock of one process jumps; nothing
// that a lock decides depends on it.

#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class TimeFaults : public Conformance {
 protected:
  std::uint64_t renewals() { return world.renewals(std::stoul(peer.ask("renewed"))); }
  Peer peer{world.url()};
};
HOLDFAST_ON_EVERY_STORE(TimeFaults);

// A jump ahead may be a pause of the machine that the boot clock slept through: valid() says so
// until a renewal has shown that it was none (T6).
TEST_P(TimeFaults, T01JumpsOfTheWallClock) {
  peer.acquire(name, "ttl=2000");
  for (const auto hours : {1, -1, 0, 24 * 365, -24 * 365, 0}) {
    EXPECT_EQ(peer.ask("wall_clock " + std::to_string(hours * 3'600'000L)), "ok");
    EXPECT_TRUE(eventually([&] { return peer.ask("valid " + name) == "yes"; })) << hours;
    EXPECT_EQ(peer.ask("lost " + name), "no") << hours;
  }
  const auto before = renewals();
  EXPECT_TRUE(eventually([&] { return renewals() >= before + 4; }));  // More than one ttl.
  EXPECT_EQ(peer.ask("valid " + name), "yes");
  EXPECT_EQ(peer.ask("release " + name), "released");
}

TEST_P(TimeFaults, T01ManyJumpsOfTheWallClock) {
  peer.acquire(name, "ttl=2000");
  EXPECT_EQ(peer.ask("wild_clock"), "ok");
  const auto before = renewals();
  EXPECT_TRUE(eventually([&] { return renewals() >= before + 7; }));  // More than two ttls.
  EXPECT_EQ(peer.ask("lost " + name), "no");
  EXPECT_EQ(peer.ask("wall_clock 0"), "ok");
  EXPECT_TRUE(eventually([&] { return peer.ask("valid " + name) == "yes"; }));
}

TEST_P(TimeFaults, T01WaitsKeepTheirLength) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  peer.acquire(name);  // It is connected: certificates are judged by the wall clock.
  EXPECT_EQ(peer.ask("release " + name), "released");
  const auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  EXPECT_EQ(peer.ask("wild_clock"), "ok");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(peer.ask("acquire " + name + " wait=700").substr(0, 10), "error busy");
  EXPECT_GE(std::chrono::steady_clock::now() - start, 690ms);
}

// Holder and waiter disagree by a year about the time of day.
TEST_P(TimeFaults, T07ProcessesWithDifferentWallClocks) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  const auto year = std::to_string(365L * 24 * 3'600'000);
  peer.acquire(name);  // It is connected.
  EXPECT_EQ(peer.ask("release " + name), "released");
  for (const auto& ahead : {year, "-" + year}) {
    EXPECT_EQ(peer.ask("wall_clock " + ahead), "ok");
    const auto token = peer.acquire(name, "ttl=1500");
    EXPECT_TRUE(failed(alice.lock(name).try_acquire_for(300ms), Errc::busy));
    EXPECT_EQ(peer.ask("release " + name), "released");
    const auto lease = take_at_once(alice, name);
    ASSERT_TRUE(succeeded(lease));
    EXPECT_EQ(peer.ask("acquire " + name + " wait=300").substr(0, 10), "error busy");
    EXPECT_TRUE(lease->valid());
    if (world.traits().tokens) {
      EXPECT_GT(lease->token(), token);
    }
  }
}

}  // namespace
}  // namespace holdfast
