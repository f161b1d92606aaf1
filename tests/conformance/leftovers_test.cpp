// Goal: a client that is done with a name leaves nothing of it at the store, whatever happened: no
// claim, no place in line, no marker; and a client that is gone leaves no session, lease or
// channel. Method: reads all of it from the raw store, because our own list() shows only what it
// considers alive.

#include <atomic>
#include <optional>
#include <thread>

#include "support/faulty.hpp"
#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Leftovers : public Conformance {
 protected:
  using Texts = std::vector<std::string>;

  // Proves that the raw store shows what would be left.
  testing::AssertionResult seen() {
    if (!world.left_of(name).empty()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the raw store shows nothing of what is held";
  }
  // Waits until it is so, like nothing_left.
  testing::AssertionResult only(const Texts& wanted, const std::string& of) {
    Texts left;
    if (eventually([&] { return (left = world.left_of(of)) == wanted; }))
      return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << testing::PrintToString(left) << " instead of " << testing::PrintToString(wanted);
  }
  // An attempt fails because somebody else holds the name, and leaves only the holder there. If the
  // machine stalls, the ask stays in doubt and leaves a mark on purpose; then this tries again.
  template <class Attempt>
  void leaves_only_the_holder(const Attempt& attempt) {
    const auto alice = world.client();
    const auto bob = world.client();
    for (const Millis delay : {Millis(0), held_long}) {
      SCOPED_TRACE(delay.count());
      const LockOptions options{.ttl = held_long, .lock_delay = delay};
      for (int trial = 0;; ++trial) {
        const auto of = name + "/" + std::to_string(trial);
        auto held = alice.lock(of, options).acquire();
        ASSERT_TRUE(succeeded(held));
        const Texts its = world.left_of(of);
        EXPECT_FALSE(its.empty());
        attempt(bob.lock(of, options), of, its);
        ASSERT_TRUE(eventually([&] { return bob.stats().debts == 0; }));
        const bool marked = std::ranges::count(world.left_of(of), "a mark") > 0;
        if (marked && trial < 5) continue;
        EXPECT_TRUE(only(its, of));
        ASSERT_TRUE(succeeded(held->release()));
        EXPECT_TRUE(world.nothing_left(of));
        break;
      }
    }
  }
};
HOLDFAST_ON_EVERY_STORE(Leftovers);

TEST_P(Leftovers, OfAReleaseAreNone) {
  const auto alice = world.client();
  for (const Millis delay : {Millis(0), held_long}) {
    const LockOptions options{.ttl = held_long, .lock_delay = delay};
    const auto catalogue = alice.rw_lock(name, options);
    for (const Lock& lock : {alice.lock(name, options), catalogue.read(), catalogue.write(),
                             alice.semaphore(name, 3, options).permits(2)}) {
      auto lease = lock.acquire();
      ASSERT_TRUE(succeeded(lease));
      EXPECT_TRUE(seen());
      ASSERT_TRUE(succeeded(lease->release()));
      EXPECT_TRUE(world.nothing_left(name));
    }
  }
}

TEST_P(Leftovers, OfAHandoverAreNone) {
  const auto alice = world.client();
  const auto bob = world.client();
  for (const Millis delay : {Millis(0), held_long}) {
    const LockOptions options{.ttl = held_long, .lock_delay = delay};
    auto held = alice.lock(name, options).acquire();
    ASSERT_TRUE(succeeded(held));
    std::jthread waiter(
        [&] { EXPECT_TRUE(succeeded(bob.lock(name, options).try_acquire_for(2 * patient))); });
    ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
    ASSERT_TRUE(succeeded(held->release()));
    waiter.join();
    EXPECT_TRUE(world.nothing_left(name));
  }
}

TEST_P(Leftovers, OfARefusedTryAreNone) {
  leaves_only_the_holder([](const Lock& lock, const std::string&, const Texts&) {
    EXPECT_TRUE(failed(lock.try_acquire(), Errc::busy));
  });
}

TEST_P(Leftovers, OfAWaitThatTimedOutAreNone) {
  leaves_only_the_holder([](const Lock& lock, const std::string&, const Texts&) {
    EXPECT_TRUE(busy_by_deadline([&] { return lock.try_acquire_for(shortly); }));
  });
}

TEST_P(Leftovers, OfACancelledWaitAreNone) {
  leaves_only_the_holder([&](const Lock& lock, const std::string& of, const Texts& its) {
    std::stop_source stop;
    std::jthread waiter(
        [&] { EXPECT_TRUE(failed(lock.acquire(stop.get_token()), Errc::cancelled)); });
    EXPECT_TRUE(eventually([&] { return world.left_of(of) != its; }));
    stop.request_stop();
  });
}

TEST_P(Leftovers, OfALostLeaseAreNoneOnceItIsLetGo) {
  for (const Millis delay : {Millis(0), held_long}) {
    SCOPED_TRACE(delay.count());
    const auto alice = world.client();
    auto lease = alice.lock(name, {.lock_delay = delay}).acquire();
    ASSERT_TRUE(succeeded(lease));
    EXPECT_TRUE(seen());
    world.end_holder(name);
    if (lease->valid()) jump(past_ttl);
    ASSERT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
    EXPECT_TRUE(failed(lease->release(), Errc::lost));
    ASSERT_TRUE(eventually([&] { return alice.stats().debts == 0; }));
    EXPECT_TRUE(world.nothing_left(name));
    EXPECT_TRUE(succeeded(world.client().lock(name).try_acquire()));
  }
}

// Nothing is under way any more when close() returns.
TEST_P(Leftovers, OfACloseAreNone) {
  const auto bob = world.client();
  for (const Millis delay : {Millis(0), held_long}) {
    const LockOptions options{.ttl = held_long, .lock_delay = delay};
    const auto alice = world.client();
    auto held = bob.lock(name, options).acquire();
    const auto lost = alice.lock(name + "/alice's", options).acquire();
    ASSERT_TRUE(succeeded(held) && succeeded(lost));
    const Texts his = world.left_of(name);
    std::jthread waiter(
        [&] { EXPECT_TRUE(failed(alice.lock(name, options).acquire(), Errc::cancelled)); });
    ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1; }));
    ASSERT_TRUE(succeeded(alice.close(patient)));
    EXPECT_EQ(world.left_of(name), his);
    auto hers = world.left_of(name + "/alice's");
    std::erase(hers, "an empty folder");  // The server removes it now and then.
    EXPECT_EQ(hers, Texts());
    ASSERT_TRUE(succeeded(held->release()));
    EXPECT_TRUE(world.nothing_left(name));
  }
}

TEST_P(Leftovers, OfARevocationAreNoneOnceItIsLetGo) {
  const auto alice = world.client();
  const auto bob = world.client();
  for (const Millis delay : {Millis(0), held_long}) {
    for (const bool now : {false, true}) {
      SCOPED_TRACE(testing::Message() << delay.count() << (now ? " now" : ""));
      auto lease = alice.lock(name, {.lock_delay = delay}).acquire();
      ASSERT_TRUE(succeeded(lease));
      ASSERT_TRUE(succeeded(bob.revoke(name, now)));
      jump(world.renewal_due());
      ASSERT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
      EXPECT_TRUE(failed(lease->release(), Errc::lost));
      ASSERT_TRUE(eventually([&] { return alice.stats().debts == 0; }));
      EXPECT_TRUE(world.nothing_left(name));
    }
  }
}

TEST_P(Leftovers, OfTheDeadAreNoneOnceTheNextHasComeAndGone) {
  HOLDFAST_NEEDS(processes);
  Peer holder(world.url());
  Peer waiter(world.url());
  holder.acquire(name);
  const auto observer = world.client();
  waiter.start_acquire(name);
  ASSERT_TRUE(eventually([&] { return waiting(observer, name) == 1; }));
  for (Peer* each : {&waiter, &holder}) each->kill();
  EXPECT_TRUE(seen());
  ASSERT_TRUE(world.bury(holder.pid(), name));
  ASSERT_TRUE(world.bury(waiter.pid(), name));
  { ASSERT_TRUE(succeeded(take_at_once(observer, name))); }
  EXPECT_TRUE(world.nothing_left(name));
}

// A doubtful withdrawal leaves a mark on purpose, for the ttl of its ask: the mark refuses a late
// copy of that ask. A store that needs no marks has none.
TEST_P(Leftovers, OfADoubtfulWithdrawalIsAMarkForItsTtl) {
  FaultyClient alice(world.url());
  const auto bob = world.client();
  alice.inject({.fault = Fault::lost_reply, .calls = asks, .count = for_good});
  EXPECT_TRUE(failed(alice.store().lock(name).try_acquire(), Errc::unavailable));
  EXPECT_GT(alice.injected(), 0);
  alice.heal();
  ASSERT_TRUE(eventually([&] { return alice.store().stats().debts == 0; }));
  EXPECT_TRUE(world.nothing_left_but("a mark", name));

  auto held = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  world.end_holder(name);
  if (held->valid()) jump(past_ttl);
  EXPECT_TRUE(failed(held->release(), Errc::lost));
  ASSERT_TRUE(eventually([&] { return bob.stats().debts == 0; }));
  { ASSERT_TRUE(succeeded(take_at_once(bob, name))); }
  EXPECT_TRUE(world.nothing_left(name));
}

TEST_P(Leftovers, OfClientsThatAreGoneAreNone) {
  {
    const auto alice = world.client();
    const auto bob = world.client();
    auto held = alice.lock(name, {.lock_delay = held_long}).acquire();
    ASSERT_TRUE(succeeded(held));
    std::jthread waiter([&] { EXPECT_TRUE(succeeded(bob.lock(name).acquire())); });
    ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
    EXPECT_EQ(world.left_of_clients().empty(), !world.traits().processes);
    ASSERT_TRUE(succeeded(held->release()));
  }
  Texts left;
  EXPECT_TRUE(eventually([&] { return (left = world.left_of_clients()).empty(); }))
      << testing::PrintToString(left);
}

class LeftoversClock : public Leftovers {};
HOLDFAST_ON_EVERY_STORE(LeftoversClock);

// Some stores cannot be told to end a lock_delay before its time.
TEST_P(LeftoversClock, OfTheDeadAreNoneOnceTheirDelayIsOver) {
  HOLDFAST_NEEDS(processes);
  Peer peer(world.url(world.session(6s)));
  peer.acquire(name, "ttl=6000 lock_delay=1000");
  peer.kill();
  EXPECT_TRUE(seen());
  const auto alice = world.client();
  { ASSERT_TRUE(succeeded(take_at_once(alice, name))); }
  EXPECT_TRUE(world.nothing_left(name));
}

}  // namespace
}  // namespace holdfast
