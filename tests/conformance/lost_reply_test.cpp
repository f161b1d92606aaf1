// Goal: no single lost request or reply leaves a name held, or a claim in line.
// Method: SQLite's fault sweep. A short story runs again and again; its 1st call fails, then its
// 2nd, and so on, until a run ends before its fault comes. This needs no list of interesting
// moments, because it finds them. The ttl is twenty minutes: a name that is free sooner was freed,
// not forgotten.

#include <thread>

#include "support/faulty.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class LostReply : public Conformance {
 protected:
  // Runs the story with each call failing in turn, `count` times in a row.
  template <class Story>
  void sweep(Story story, int count = 1) {
    for (const auto fault : {Fault::lost_reply, Fault::lost_request}) {
      for (int nth = 1;; ++nth) {
        SCOPED_TRACE(testing::Message()
                     << "fault " << static_cast<int>(fault) << " at call " << nth);
        ASSERT_LT(nth, 100);  // Every loop needs a limit.
        FaultyClient alice(world.url());
        alice.inject({.fault = fault, .nth = nth, .count = count});
        story(alice.store());
        const int injected = alice.injected();
        alice.heal();
        ASSERT_TRUE(succeeded(take_at_once(bob, name)));
        ASSERT_TRUE(world.nothing_left_but("a mark", name));
        if (injected == 0) break;
      }
    }
  }
  const LockOptions long_lived{.ttl = held_long};
  const Store bob = world.client();
};
HOLDFAST_ON_EVERY_STORE(LostReply);

TEST_P(LostReply, OfAcquireAndRelease) {
  sweep([&](const Store& alice) {
    auto lease = alice.lock(name, long_lived).acquire();
    ASSERT_TRUE(succeeded(lease));  // An ask is repeated with the same id while there is time.
    const auto released = lease->release();
    EXPECT_TRUE(released || released.error().errc() == Errc::unknown);
  });
}

TEST_P(LostReply, SeveralInARow) {
  sweep([&](const Store& alice) { EXPECT_TRUE(succeeded(alice.lock(name, long_lived).acquire())); },
        3);
}

TEST_P(LostReply, OfATry) {
  sweep([&](const Store& alice) {
    const auto lease = alice.lock(name, long_lived).try_acquire();
    EXPECT_TRUE(lease || lease.error().errc() == Errc::unavailable) << lease.error().what();
  });
}

TEST_P(LostReply, OfAWaitThatEndsWithAGrant) {
  sweep([&](const Store& alice) {
    auto held = bob.lock(name, long_lived).acquire();
    ASSERT_TRUE(succeeded(held));
    std::jthread waiter([&] { EXPECT_TRUE(succeeded(alice.lock(name).acquire())); });
    ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1 || !world.traits().queues; }));
    ASSERT_TRUE(succeeded(held->release()));
  });
}

TEST_P(LostReply, OfAWaitThatIsGivenUp) {
  sweep([&](const Store& alice) {
    const auto held = bob.lock(name, long_lived).acquire();
    ASSERT_TRUE(succeeded(held));
    const auto lease = alice.lock(name, long_lived).try_acquire_for(150ms);
    ASSERT_FALSE(lease);
    EXPECT_TRUE(failed(lease, Errc::busy) || failed(lease, Errc::unavailable))
        << lease.error().what();
    EXPECT_TRUE(eventually([&] { return waiting(bob, name) == 0; }));
  });
}

TEST_P(LostReply, OfADowngrade) {
  HOLDFAST_NEEDS(rw);
  sweep([&](const Store& alice) {
    const auto lock = alice.rw_lock(name, long_lived);
    auto lease = lock.write().acquire();
    ASSERT_TRUE(succeeded(lease));
    const auto downgraded = lock.downgrade(*lease);
    EXPECT_TRUE(downgraded || downgraded.error().errc() == Errc::unknown);
    EXPECT_TRUE(lease->valid());
  });
}

// A client that lost a reply asks again and does not wait for its own orphan (N05).
TEST_P(LostReply, IsNoObstacleForTheSameClient) {
  for (const auto fault : {Fault::lost_reply, Fault::lost_request}) {
    for (const auto calls : {asks, releases}) {
      FaultyClient alice(world.url(), {.release_deadline = 200ms});
      alice.inject({.fault = fault, .calls = calls, .count = calls == asks ? 1 : for_good});
      { const auto lease = alice.store().lock(name, long_lived).try_acquire(); }
      EXPECT_GT(alice.injected(), 0);
      const auto again = alice.store().lock(name, long_lived).try_acquire_for(patient);
      EXPECT_TRUE(succeeded(again));
      EXPECT_EQ(holding(bob, name), 1);
      alice.heal();
    }
  }
}

// The answers to all releases are lost for a while. A destructor still waits no longer than its
// deadline, and what is owed is not forgotten.
TEST_P(LostReply, OfReleasesIsADebtThatIsPaid) {
  FaultyClient alice(world.url(), {.release_deadline = 200ms});
  alice.inject({.fault = Fault::lost_request, .calls = releases, .count = for_good});
  auto lease = alice.store().lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_TRUE(failed(lease->release(), Errc::unknown));
  EXPECT_FALSE(lease->valid());
  EXPECT_EQ(alice.store().stats().debts, 1U);
  EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
  alice.heal();
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
  EXPECT_TRUE(eventually([&] { return alice.store().stats().debts == 0; }));
}

}  // namespace
}  // namespace holdfast
