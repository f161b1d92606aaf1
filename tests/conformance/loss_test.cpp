// Goal: a lease never lies. It lives on while it is renewed, ends by itself when it is not, says so
// before anybody else can be in, and is never taken for lost without reason.

#include <atomic>
#include <thread>

#include "support/diary.hpp"
#include "support/faulty.hpp"
#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Loss : public Conformance {};
HOLDFAST_ON_EVERY_STORE(Loss);

TEST_P(Loss, RenewalCarriesALeaseBeyondItsTtl) {
  const auto alice = world.client();
  const auto bob = world.client();
  const auto lock = alice.lock(name, {.ttl = 2s});  // Some stores count in whole seconds.
  const auto lease = lock.acquire();
  ASSERT_TRUE(succeeded(lease));
  // Each renewal comes a third of the ttl after the one before: seven are more than two ttls.
  ASSERT_TRUE(eventually([&] {
    EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
    return world.renewals(alice) >= 7 || !lease->valid();
  }));
  EXPECT_TRUE(lease->valid());
  EXPECT_GT(lease->left(), 0ms);
  EXPECT_LE(lease->left(), lock.ttl());
}

TEST_P(Loss, IsNotSignalledWithoutReason) {
  const Diary diary;
  const auto alice = world.client(diary.options());
  const auto first = alice.lock(name, {.ttl = 2s}).acquire();
  auto second = alice.lock(name + "/2", {.ttl = 2s}).acquire();
  ASSERT_TRUE(succeeded(first));
  ASSERT_TRUE(succeeded(second));
  const auto lost_first = first->lost();
  const auto lost_second = second->lost();
  ASSERT_TRUE(eventually([&] { return world.renewals(alice) >= 8; }));
  EXPECT_TRUE(succeeded(second->release()));
  EXPECT_FALSE(lost_first.stop_requested());
  EXPECT_FALSE(lost_second.stop_requested());  // A release is no loss.
  EXPECT_EQ(alice.stats().lost, 0U);
  EXPECT_EQ(diary.count(name, Event::Kind::lost), 0);
  EXPECT_EQ(diary.count(name + "/2", Event::Kind::lost), 0);
}

TEST_P(Loss, HoldAtMostEndsALeaseByItself) {
  const auto alice = world.client();
  const auto bob = world.client();
  auto lease = alice.lock(name, {.ttl = 30s, .hold_at_most = 700ms}).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_TRUE(lease->valid());
  EXPECT_LE(lease->left(), 700ms);
  const auto next = bob.lock(name).acquire();  // Long before the ttl of 30 s
  ASSERT_TRUE(succeeded(next));
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(lease->lost().stop_requested());
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  EXPECT_TRUE(next->valid());
}

// The margin is large, so that a slow machine does not make the signal late.
TEST_P(Loss, IsSignalledBeforeAnotherIsGranted) {
  FaultyClient alice(world.url());
  const auto bob = world.client();
  const auto lease = alice.store().lock(name, {.ttl = 3s, .margin = 1s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  std::atomic<bool> signalled = false;
  const std::stop_callback on_loss(lease->lost(), [&] { signalled = true; });
  alice.inject({.fault = Fault::lost_request, .calls = ending(world.traits()), .count = for_good});
  const auto next = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(next));
  EXPECT_TRUE(signalled);
  EXPECT_FALSE(lease->valid());
  EXPECT_GT(alice.injected(), 0);
  EXPECT_EQ(alice.store().stats().lost, 1U);
}

TEST_P(Loss, IsToldToWhoeverAsksLater) {
  FaultyClient alice(world.url());
  const auto lease = alice.store().lock(name, {.ttl = 600ms}).acquire();
  ASSERT_TRUE(succeeded(lease));
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
  ASSERT_TRUE(eventually([&] { return !lease->valid(); }));
  ASSERT_TRUE(eventually([&] { return alice.store().stats().lost == 1; }));
  EXPECT_TRUE(lease->lost().stop_requested());
  EXPECT_EQ(lease->left(), 0ms);
}

TEST_P(Loss, IsForGood) {
  FaultyClient alice(world.url());
  auto lease = alice.store().lock(name, {.ttl = 1s, .margin = 400ms}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
  ASSERT_TRUE(eventually([&] { return lost.stop_requested(); }));
  alice.heal();  // Now the store would answer again, and perhaps still knows the claim.
  EXPECT_FALSE(lease->valid());
  ASSERT_TRUE(succeeded(take_at_once(world.client(), name)));
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
}

TEST_P(Loss, IsNotCausedByAFewLostRenewals) {
  const Diary diary;
  FaultyClient alice(world.url(), diary.options());
  const auto lease = alice.store().lock(name, {.ttl = 3s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .nth = 2, .count = 2});
  ASSERT_TRUE(eventually([&] { return diary.count(name, Event::Kind::safe) == 1; }));
  EXPECT_EQ(diary.count(name, Event::Kind::at_risk), 1);
  EXPECT_TRUE(lease->valid());
  EXPECT_FALSE(lease->lost().stop_requested());
}

TEST_P(Loss, OfAHandedOverLeaseIsToldToItsNewHolder) {
  FaultyClient alice(world.url());
  auto first = alice.store().lock(name, {.ttl = 2s, .margin = 500ms}).acquire();
  ASSERT_TRUE(succeeded(first));
  std::atomic<bool> lost = false;
  std::jthread second([&] {
    const auto lease = alice.store().lock(name, {.ttl = 2s, .margin = 500ms}).acquire();
    ASSERT_TRUE(succeeded(lease));
    const std::stop_callback on_loss(lease->lost(), [&] { lost = true; });
    EXPECT_TRUE(eventually([&] { return lost.load(); }));
    EXPECT_FALSE(lease->valid());
  });
  first->release().value();
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
  second.join();
  EXPECT_TRUE(lost);
}

// A holder from the past does whatever it likes: its successor does not notice.
TEST_P(Loss, MakesAHolderHarmlessToItsSuccessor) {
  FaultyClient alice(world.url());
  const auto bob = world.client();
  const auto carol = world.client();
  auto stale = alice.store().lock(name, {.ttl = 1s}).acquire();
  ASSERT_TRUE(succeeded(stale));
  ASSERT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));  // It was really held.
  alice.inject({.fault = Fault::lost_request, .calls = ending(world.traits()), .count = for_good});
  const auto lease = bob.lock(name, {.ttl = 2s}).acquire();
  ASSERT_TRUE(succeeded(lease));

  alice.heal();
  EXPECT_TRUE(failed(stale->release(), Errc::lost));
  { const Lease ended = std::move(*stale); }
  ASSERT_TRUE(
      eventually([&] { return alice.store().stats().debts == 0; }));  // All is said and done.

  EXPECT_EQ(holding(carol, name), 1);
  EXPECT_TRUE(failed(carol.lock(name).try_acquire(), Errc::busy));
  ASSERT_TRUE(eventually([&] { return world.renewals(bob) >= 4; }));
  EXPECT_TRUE(lease->valid());
}

TEST_P(Loss, OfAStoppedProcessIsSeenAtItsFirstLook) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  Peer peer(world.url());
  const auto stale = peer.acquire(name, "ttl=1000");
  ASSERT_TRUE(failed(alice.lock(name).try_acquire(), Errc::busy));
  peer.stop();
  const auto lease = alice.lock(name, {.ttl = 2s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  if (world.traits().tokens) {
    EXPECT_GT(lease->token(), stale);
  }
  peer.resume();
  EXPECT_EQ(peer.ask("valid " + name), "no");
  EXPECT_EQ(peer.ask("release " + name).substr(0, 10), "error lost");
  ASSERT_TRUE(eventually([&] { return world.renewals(alice) >= 4; }));
  EXPECT_TRUE(lease->valid());
  EXPECT_EQ(holding(alice, name), 1);
}

TEST_P(Loss, OfAKilledProcessFreesItsNames) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  Peer peer(world.url());
  peer.acquire(name, "ttl=1500");
  peer.acquire(name + "/2", "ttl=1500");
  ASSERT_TRUE(failed(alice.lock(name).try_acquire(), Errc::busy));
  peer.kill();
  EXPECT_TRUE(succeeded(alice.lock(name).acquire()));
  EXPECT_TRUE(succeeded(alice.lock(name + "/2").acquire()));
  EXPECT_TRUE(eventually_nothing_left(alice, name));
  EXPECT_TRUE(eventually_nothing_left(alice, name + "/2"));
}

// After a death nobody enters for that long; after a release anybody does at once.
TEST_P(Loss, ByDeathIsFollowedByTheLockDelay) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  Peer peer(world.url());
  peer.acquire(name, "ttl=1000 lock_delay=" + std::to_string(held_long.count()));
  ASSERT_EQ(peer.ask("release " + name), "released");
  ASSERT_TRUE(succeeded(take_at_once(alice, name)));

  peer.acquire(name, "ttl=1000 lock_delay=2000");
  peer.kill();
  const auto killed_at = std::chrono::steady_clock::now();
  ASSERT_TRUE(succeeded(alice.lock(name).acquire()));
  EXPECT_GE(std::chrono::steady_clock::now() - killed_at, 1500ms);
}

}  // namespace
}  // namespace holdfast
