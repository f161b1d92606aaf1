// Goal: a lease never lies. It lives while it is renewed, ends by itself when it is not, says so
// before anybody else can be in, and never counts as lost without reason.

#include <atomic>
#include <optional>
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

TEST_P(Loss, IsNotSignalledWithoutReason) {
  const Diary diary;
  const auto alice = world.client(diary.options());
  const auto first = alice.lock(name).acquire();
  auto second = alice.lock(name + "/2").acquire();
  ASSERT_TRUE(succeeded(first));
  ASSERT_TRUE(succeeded(second));
  const auto lost_first = first->lost();
  const auto lost_second = second->lost();
  for (Millis passed{0}; passed < 2 * past_ttl; passed += world.renewal_due()) {
    ASSERT_TRUE(world.renewed(*first, alice));
    ASSERT_TRUE(eventually([&] { return second->left() > first->left() / 2; }));
  }
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
  auto lease = alice.lock(name, {.ttl = held_long, .hold_at_most = 10s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_TRUE(lease->valid());
  EXPECT_LE(lease->left(), 10s);
  ASSERT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
  jump(11s);
  const auto next = take_at_once(bob, name);  // Long before the ttl of 20 min
  ASSERT_TRUE(succeeded(next));
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  EXPECT_TRUE(next->valid());
}

TEST_P(Loss, IsToldToWhoeverAsksLater) {
  FaultyClient alice(world.url());
  const auto lease = alice.store().lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
  EXPECT_TRUE(lease->valid());
  jump(past_ttl);
  EXPECT_FALSE(lease->valid());
  ASSERT_TRUE(eventually([&] { return alice.store().stats().lost == 1; }));
  EXPECT_TRUE(lease->lost().stop_requested());
  EXPECT_EQ(lease->left(), 0ms);
}

TEST_P(Loss, IsForGood) {
  FaultyClient alice(world.url());
  auto lease = alice.store().lock(name, {.margin = 10s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
  jump(21s);
  ASSERT_TRUE(eventually([&] { return lost.stop_requested(); }));
  alice.heal();  // Now the store would answer again, and it still knows the claim.
  EXPECT_FALSE(lease->valid());
  jump(10s);  // To the end of the lease, where the client lets go of it.
  ASSERT_TRUE(succeeded(take_at_once(world.client(), name)));
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
}

TEST_P(Loss, IsNotCausedByAFewLostRenewals) {
  const Diary diary;
  FaultyClient alice(world.url(), diary.options());
  const auto lease = alice.store().lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  ASSERT_TRUE(world.renewed(*lease, alice.store()));
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = 2});
  for (const auto after : {world.renewal_due(), Millis(4s), Millis(4s)}) {  // Retries come soon.
    const int seen = alice.seen(keeping);
    jump(after);
    ASSERT_TRUE(eventually([&] {
      (void)alice.store().list("nobody");
      return alice.seen(keeping) > seen;
    }));
    (void)alice.store().list("nobody");  // Answered after the renewal, which is over then.
  }
  ASSERT_TRUE(eventually([&] { return diary.count(name, Event::Kind::safe) == 1; }));
  EXPECT_EQ(alice.injected(), 2);
  EXPECT_EQ(diary.count(name, Event::Kind::at_risk), 1);
  EXPECT_TRUE(lease->valid());
  EXPECT_FALSE(lease->lost().stop_requested());
}

TEST_P(Loss, OfAHandedOverLeaseIsToldToItsNewHolder) {
  FaultyClient alice(world.url());
  std::optional<Lease> lease;
  ASSERT_TRUE(eventually([&] {  // On a busy machine they may not meet at first.
    lease.reset();
    auto first = alice.store().lock(name).acquire();
    std::jthread second([&] {
      if (auto next = alice.store().lock(name).acquire()) lease.emplace(std::move(*next));
    });
    std::this_thread::yield();
    first->release().value();
    second.join();
    return lease && (world.traits().handovers == 0 || alice.store().stats().handed_over > 0);
  }));
  EXPECT_TRUE(lease->valid());
  std::atomic<bool> lost = false;
  const std::stop_callback on_loss(lease->lost(), [&] { lost = true; });
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
  jump(past_ttl);
  EXPECT_TRUE(eventually([&] { return lost.load(); }));
  EXPECT_FALSE(lease->valid());
}

// Whatever a past holder does, its successor does not notice.
TEST_P(Loss, MakesAHolderHarmlessToItsSuccessor) {
  FaultyClient alice(world.url());
  const auto bob = world.client();
  const auto carol = world.client();
  auto stale = alice.store().lock(name).acquire();
  ASSERT_TRUE(succeeded(stale));
  ASSERT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));  // It was really held.
  alice.inject({.fault = Fault::lost_request, .calls = ending(world.traits()), .count = for_good});
  world.end_holder(name);
  if (stale->valid()) jump(past_ttl);  // Once: a release that is owed longer is not sent.
  const auto lease = take_at_once(bob, name);
  ASSERT_TRUE(succeeded(lease));

  const int sent_in_vain = alice.seen(releases);
  alice.heal();
  EXPECT_TRUE(failed(stale->release(), Errc::lost));
  { const Lease ended = std::move(*stale); }
  ASSERT_TRUE(
      eventually([&] { return alice.store().stats().debts == 0; }));  // All releases are confirmed.
  if (world.traits().validity == Validity::claim) {
    EXPECT_GT(alice.seen(releases), sent_in_vain);
  }

  EXPECT_EQ(holding(carol, name), 1);
  EXPECT_TRUE(failed(carol.lock(name).try_acquire(), Errc::busy));
  EXPECT_TRUE(world.renewed(*lease, bob));
}

// The clock went on while the process was stopped, as in a machine that slept (T09).
TEST_P(Loss, OfAStoppedProcessIsSeenAtItsFirstLook) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  Peer peer(world.url());
  const auto stale = peer.acquire(name);
  ASSERT_TRUE(failed(alice.lock(name).try_acquire(), Errc::busy));
  peer.stop();
  world.end_holder(name);
  jump(past_ttl);  // Our clock as well, because some stores go by the clocks of their clients.
  const auto lease = take_at_once(alice, name);
  ASSERT_TRUE(succeeded(lease));
  if (world.traits().tokens) {
    EXPECT_GT(lease->token(), stale);
  }
  peer.send("jump " + std::to_string(past_ttl.count()));
  peer.send("valid " + name);
  peer.resume();
  EXPECT_EQ(peer.read(), "ok");
  EXPECT_EQ(peer.read(), "no");
  EXPECT_EQ(peer.ask("release " + name).substr(0, 10), "error lost");
  EXPECT_TRUE(world.renewed(*lease, alice));
  EXPECT_EQ(holding(alice, name), 1);
}

TEST_P(Loss, OfAKilledProcessFreesItsNames) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  Peer peer(world.url());
  peer.acquire(name);
  peer.acquire(name + "/2");
  ASSERT_TRUE(failed(alice.lock(name).try_acquire(), Errc::busy));
  peer.kill();
  EXPECT_TRUE(world.bury(peer.pid(), name));
  EXPECT_TRUE(world.bury(peer.pid(), name + "/2"));
  EXPECT_TRUE(succeeded(take_at_once(alice, name)));
  EXPECT_TRUE(succeeded(take_at_once(alice, name + "/2")));
  EXPECT_TRUE(world.nothing_left(name));
  EXPECT_TRUE(world.nothing_left(name + "/2"));
}

// By a client that never looked before, because a job that runs once a night has one try.
TEST_P(Loss, ATryAfterADeathIsGranted) {
  HOLDFAST_NEEDS(processes);
  Peer peer(world.url());
  peer.acquire(name);
  peer.kill();
  world.end_holder(name);
  EXPECT_TRUE(succeeded(world.client().lock(name).try_acquire()));
}

// After a death nobody gets in for that long; after a release anybody does at once.
TEST_P(Loss, ByDeathIsFollowedByTheLockDelay) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  const auto delay = "lock_delay=" + std::to_string(held_long.count());
  Peer peer(world.url());
  peer.acquire(name, delay);
  ASSERT_EQ(peer.ask("release " + name), "released");
  ASSERT_TRUE(succeeded(take_at_once(alice, name)));

  peer.acquire(name, delay);
  peer.kill();
  ASSERT_TRUE(world.bury(peer.pid(), name));
  const auto refused = alice.lock(name).try_acquire();
  ASSERT_TRUE(failed(refused, Errc::busy));
  EXPECT_EQ(refused.error().reason(), "lock_delay");
}

class LossClock : public Loss {};
HOLDFAST_ON_EVERY_STORE(LossClock);

TEST_P(LossClock, RenewalCarriesALeaseBeyondItsTtl) {
  const auto alice = world.client({}, world.session(6s));
  const auto bob = world.client();
  const auto lock = alice.lock(name, {.ttl = 6s});
  const auto lease = lock.acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < 8s) {  // Some stores count in whole seconds.
    ASSERT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_TRUE(lease->valid());
  EXPECT_GT(lease->left(), 0ms);
  EXPECT_LE(lease->left(), lock.ttl());
}

// The margin is large, so that a slow machine does not make the signal late.
TEST_P(LossClock, IsSignalledBeforeAnotherIsGranted) {
  FaultyClient alice(world.url(world.session(8s)));
  const auto bob = world.client();
  const auto lease = alice.store().lock(name, {.ttl = 8s, .margin = 2500ms}).acquire();
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

// The store itself ends a lease that nobody renews, and keeps the lock_delay after it.
TEST_P(LossClock, OfAKilledProcessFreesItsNamesInTime) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  Peer peer(world.url(world.session(6s)));
  const auto start = std::chrono::steady_clock::now();
  peer.acquire(name, "ttl=6000 lock_delay=2000");
  ASSERT_TRUE(failed(alice.lock(name).try_acquire(), Errc::busy));
  peer.kill();
  ASSERT_TRUE(succeeded(alice.lock(name).acquire()));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 2s);
}

// The delay counts from the death, whenever somebody notices it.
TEST_P(LossClock, ATryAfterADeathAndItsDelayIsGranted) {
  HOLDFAST_NEEDS(processes);
  Peer peer(world.url(world.session(6s)));
  peer.acquire(name, "ttl=6000 lock_delay=1000");
  peer.kill();
  std::this_thread::sleep_for(13s);  // Some stores count in seconds, and from the last renewal.
  EXPECT_TRUE(succeeded(world.client().lock(name).try_acquire()));
}

}  // namespace
}  // namespace holdfast
