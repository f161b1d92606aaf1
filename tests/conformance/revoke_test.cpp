// Goal: revoking tells the holder; the next gets in when the holder has let go, with `now` at once.

#include <atomic>
#include <thread>

#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Revoke : public Conformance {
 protected:
  const Store alice = world.client();
  const Store bob = world.client();
};
HOLDFAST_ON_EVERY_STORE(Revoke);

TEST_P(Revoke, TellsTheHolder) {
  auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  ASSERT_TRUE(succeeded(bob.revoke(name)));
  jump(world.renewal_due());  // If no message tells it, the next renewal does.
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
}

// The waiter is granted by the message about the holder's release, and not before.
TEST_P(Revoke, LetsTheNextInWhenTheHolderHasLetGo) {
  auto lease = std::make_optional(alice.lock(name).acquire().value());
  std::atomic<bool> told = false;
  std::optional<std::stop_callback<std::function<void()>>> on_loss;
  on_loss.emplace(lease->lost(), [&] { told = true; });
  std::atomic<bool> entered = false;
  std::jthread waiter([&] {
    const auto next = bob.lock(name).acquire();
    EXPECT_TRUE(told);
    entered = next.has_value();
  });
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1 || !world.traits().queues; }));
  ASSERT_TRUE(succeeded(bob.revoke(name)));
  jump(world.renewal_due());
  ASSERT_TRUE(eventually([&] { return told.load(); }));
  on_loss.reset();
  lease.reset();
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
}

TEST_P(Revoke, NowGrantsAtOnce) {
  auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  ASSERT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
  ASSERT_TRUE(succeeded(bob.revoke(name, true)));
  const auto next = bob.lock(name).try_acquire();
  ASSERT_TRUE(succeeded(next));
  EXPECT_TRUE(world.renewed(*next, bob));
  EXPECT_TRUE(eventually([&] { return !lease->valid(); }));  // By a message or a renewal.
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  EXPECT_TRUE(world.renewed(*next, bob));
}

TEST_P(Revoke, NowGrantsWhoWaits) {
  HOLDFAST_NEEDS(notifies);
  const auto lease = alice.lock(name, {.ttl = held_long}).acquire();
  ASSERT_TRUE(succeeded(lease));
  std::atomic<bool> entered = false;
  std::jthread waiter([&] {
    entered = bob.lock(name, {.ttl = held_long}).try_acquire_for(2 * patient).has_value();
  });
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  ASSERT_TRUE(succeeded(world.client().revoke(name, true)));
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
}

TEST_P(Revoke, OfAFreeNameChangesNothing) {
  (void)bob.revoke(name);
  (void)bob.revoke(name, true);
  EXPECT_EQ(world.left_of(name), std::vector<std::string>());
  EXPECT_TRUE(succeeded(alice.lock(name).try_acquire()));
}

TEST_P(Revoke, ReachesOtherProcesses) {
  HOLDFAST_NEEDS(processes);
  Peer peer(world.url());
  peer.acquire(name);
  ASSERT_TRUE(succeeded(alice.revoke(name)));
  jump(world.renewal_due());
  EXPECT_EQ(peer.ask("jump " + std::to_string(world.renewal_due().count())), "ok");
  EXPECT_TRUE(eventually([&] { return peer.ask("lost " + name) == "yes"; }));
  EXPECT_EQ(peer.ask("release " + name).substr(0, 10), "error lost");
  EXPECT_TRUE(succeeded(take_at_once(alice, name)));
}

}  // namespace
}  // namespace holdfast
