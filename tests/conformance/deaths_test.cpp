// Goal: after every kind of death the name is free again as soon as promised, for a single try and
// for a waiter. The client that tries is new, as in a job that runs once a night. Elsewhere: kill
// -9 without and with a lock_delay, in loss_test.

#include "support/faulty.hpp"
#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Deaths : public Conformance {
 protected:
  Result<Lease> attempt() const { return world.client().lock(name).try_acquire(); }
  // Free for a single try, and for a caller that may wait.
  testing::AssertionResult is_free() const {
    if (auto granted = succeeded(attempt()); !granted) return granted << ", by a try";
    if (auto granted = succeeded(take_at_once(world.client(), name)); !granted)
      return granted << ", by an acquire";
    return testing::AssertionSuccess();
  }
  testing::AssertionResult is_delayed() const {
    const auto refused = attempt();
    if (auto busy = failed(refused, Errc::busy); !busy) return busy;
    if (refused.error().reason() == "lock_delay") return testing::AssertionSuccess();
    return testing::AssertionFailure() << refused.error().what();
  }
  // Without a lock_delay, and with one that never ends.
  static std::vector<Millis> delays() { return {0ms, held_long}; }
  static std::string option(Millis delay) { return "lock_delay=" + std::to_string(delay.count()); }
  // The peer is told at once that its lease was lost; its withdrawal is under way then.
  void let_go_of_what_was_lost(Peer& peer) {
    EXPECT_EQ(peer.ask("release " + name).substr(0, 10), "error lost");
    ASSERT_TRUE(eventually([&] { return peer.ask("debts") == "0"; }));
  }
  void break_gracefully(Peer& peer) {
    ASSERT_TRUE(succeeded(world.client().revoke(name)));
    ASSERT_EQ(peer.ask("jump " + std::to_string(world.renewal_due().count())), "ok");
    ASSERT_TRUE(eventually([&] { return peer.ask("lost " + name) == "yes"; }));
    EXPECT_TRUE(failed(attempt(), Errc::busy)) << "it was granted beside its holder";
  }
};
HOLDFAST_ON_EVERY_STORE(Deaths);

TEST_P(Deaths, ByAGracefulBreakAreOverWhenTheHolderHasLetGo) {
  HOLDFAST_NEEDS(processes);
  for (const Millis delay : delays()) {
    SCOPED_TRACE(delay.count());
    Peer peer(world.url());
    peer.acquire(name, option(delay));
    break_gracefully(peer);
    let_go_of_what_was_lost(peer);
    EXPECT_TRUE(is_free());
  }
}

// It has not let go of anything, so its lock_delay applies.
TEST_P(Deaths, OfAProcessThatWasToldToLetGo) {
  HOLDFAST_NEEDS(processes);
  for (const Millis delay : delays()) {
    SCOPED_TRACE(delay.count());
    Peer peer(world.url());
    peer.acquire(name, option(delay));
    break_gracefully(peer);
    peer.kill();
    ASSERT_TRUE(world.bury(peer.pid(), name));
    EXPECT_TRUE(delay > 0ms ? is_delayed() : is_free());
  }
}

TEST_P(Deaths, ByForceAreOverAtOnce) {
  HOLDFAST_NEEDS(processes);
  for (const Millis delay : delays()) {
    SCOPED_TRACE(delay.count());
    Peer peer(world.url());
    peer.acquire(name, option(delay));
    ASSERT_TRUE(succeeded(world.client().revoke(name, true)));
    EXPECT_TRUE(is_free());
  }
}

// The holder lives, and lets go of its lost lease while the store still keeps it.
TEST_P(Deaths, OfALeaseThatWasLostAreOverWhenItsHolderHasLetGo) {
  for (const Millis delay : delays()) {
    SCOPED_TRACE(delay.count());
    FaultyClient alice(world.url());
    auto lease = alice.store().lock(name, {.lock_delay = delay, .margin = 10s}).acquire();
    ASSERT_TRUE(succeeded(lease));
    alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
    jump(21s);
    ASSERT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
    alice.heal();
    EXPECT_TRUE(failed(lease->release(), Errc::lost));
    ASSERT_TRUE(eventually([&] { return alice.store().stats().debts == 0; }));
    EXPECT_TRUE(is_free());
  }
}

// The store has ended the lease, so its lock_delay runs; then the holder lets go after all.
TEST_P(Deaths, OfALeaseThatTheStoreEndedAreOverWhenItsHolderHasLetGo) {
  HOLDFAST_NEEDS(processes);
  for (const Millis delay : delays()) {
    SCOPED_TRACE(delay.count());
    Peer peer(world.url());
    peer.acquire(name, option(delay));
    peer.stop();
    world.end_holder(name);
    if (delay > 0ms) {
      EXPECT_TRUE(is_delayed());
    }
    peer.resume();
    peer.ask("jump " + std::to_string(past_ttl.count()));
    ASSERT_TRUE(eventually([&] { return peer.ask("lost " + name) == "yes"; }));
    let_go_of_what_was_lost(peer);
    EXPECT_TRUE(is_free());
  }
}

// An operator, or a clock that was set, ended the lease at the store.
TEST_P(Deaths, OfALeaseThatWasEndedBesideItsHolder) {
  HOLDFAST_NEEDS(processes);
  Peer peer(world.url());
  peer.acquire(name);
  peer.stop();
  world.end_holder(name);
  EXPECT_TRUE(is_free());
  peer.resume();
}

// The store sees that the process is gone, so all is over long before the ttl. A delay counts from
// the death, not from when somebody first looks.
TEST_P(Deaths, OfAProcessAreOverWithTheDelayWhereALeaseEndsWithItsProcess) {
  HOLDFAST_NEEDS(ends_with_process);
  const std::string ttl = "ttl=" + std::to_string(held_long.count());
  for (const bool looked_at : {true, false}) {
    SCOPED_TRACE(looked_at);
    Peer peer(world.url());
    peer.acquire(name, ttl + " lock_delay=30000");
    peer.kill();
    if (looked_at) {
      EXPECT_TRUE(is_delayed());
    }
    jump(2 * past_ttl);
    EXPECT_TRUE(is_free());
  }
}

TEST_P(Deaths, OfAProcessEndItsLeaseAtOnceWhereTheStoreSaysSo) {
  HOLDFAST_NEEDS(processes);
  Peer peer(world.url());
  peer.acquire(name, "ttl=" + std::to_string(held_long.count()));
  peer.kill();
  const bool at_once = world.client().ends_with_process();
  EXPECT_TRUE(at_once ? is_free() : failed(attempt(), Errc::busy));
}

}  // namespace
}  // namespace holdfast
