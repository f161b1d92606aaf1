// Goal: close() ends a client as SIGTERM in a cluster requires: no new grants, waiters are told,
// held leases are released and reported lost, debts are paid, and others get in at once.

#include <atomic>
#include <thread>
#include <vector>

#include "support/detached.hpp"
#include "support/faulty.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Closing : public Conformance {
 protected:
  const LockOptions long_lived{.ttl = held_long};
};
HOLDFAST_ON_EVERY_STORE(Closing);

TEST_P(Closing, GivesBackWhatIsHeldAndSaysSo) {
  const auto alice = world.client();
  const auto bob = world.client();
  auto lease = alice.lock(name, long_lived).acquire();
  alice.lock(name + "/thread", long_lived).lock();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  ASSERT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
  ASSERT_TRUE(succeeded(alice.close(patient)));
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_TRUE(succeeded(bob.lock(name).try_acquire()));
  EXPECT_TRUE(succeeded(bob.lock(name + "/thread").try_acquire()));
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  alice.lock(name + "/thread").unlock();
}

TEST_P(Closing, SendsThoseAwayWhoWait) {
  const auto alice = world.client();
  const auto bob = world.client();
  const auto held = bob.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(held));
  std::atomic<int> cancelled = 0;
  std::vector<std::jthread> waiters;
  for (int waiter = 0; waiter < 3; ++waiter) {
    waiters.emplace_back([&] {
      const auto refused = alice.lock(name, long_lived).acquire();
      EXPECT_TRUE(failed(refused, Errc::cancelled));
      if (!refused && refused.error().reason() == "closed") ++cancelled;
    });
  }
  [](Lock lock, std::atomic<int>& count) -> Detached {
    const auto refused = co_await lock.acquire_async();
    if (!refused && refused.error().reason() == "closed") ++count;
  }(alice.lock(name, long_lived), cancelled);
  ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1 || !world.traits().queues; }));
  ASSERT_TRUE(succeeded(alice.close(patient)));
  EXPECT_TRUE(eventually([&] { return cancelled == 4; }));
  EXPECT_EQ(waiting(bob, name), 0);
  EXPECT_TRUE(held->valid());
}

TEST_P(Closing, AllowsNothingNew) {
  const auto alice = world.client();
  const auto lock = alice.lock(name);
  ASSERT_TRUE(succeeded(alice.close(patient)));
  EXPECT_TRUE(failed(lock.acquire(), Errc::cancelled));
  EXPECT_TRUE(failed(lock.try_acquire(), Errc::cancelled));
  EXPECT_TRUE(failed(alice.lock(name + "/2").acquire(), Errc::cancelled));
  EXPECT_TRUE(failed(alice.with_lock(name, {}, [](const Lease&) {}), Errc::cancelled));
  EXPECT_THROW(lock.lock(), Error);
  EXPECT_TRUE(succeeded(alice.close(patient)));  // A second call does nothing.
  EXPECT_TRUE(succeeded(world.client().lock(name).try_acquire()));
}

TEST_P(Closing, PaysDebts) {
  FaultyClient alice(world.url(), {.release_deadline = 50ms});
  const auto bob = world.client();
  alice.inject({.fault = Fault::lost_request, .calls = releases, .count = 3});
  {
    const auto lease = alice.store().lock(name, long_lived).acquire();
    ASSERT_TRUE(succeeded(lease));
  }
  ASSERT_TRUE(succeeded(alice.store().close(patient)));
  EXPECT_EQ(alice.store().stats().debts, 0U);
  EXPECT_TRUE(succeeded(bob.lock(name).try_acquire()));
}

TEST_P(Closing, SaysWhenItCouldNotFinishInTime) {
  FaultyClient alice(world.url(), {.release_deadline = 50ms});
  const auto lease = alice.store().lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  alice.inject({.fault = Fault::lost_request, .calls = releases, .count = for_good});
  EXPECT_TRUE(failed(alice.store().close(300ms), Errc::unknown));
  alice.heal();
  EXPECT_TRUE(succeeded(alice.store().close(patient)));
  EXPECT_TRUE(succeeded(world.client().lock(name).try_acquire()));
}

TEST_P(Closing, UnderLoadLeavesNothing) {
  const auto bob = world.client();
  for (int round = 0; round < 5; ++round) {
    const auto alice = world.client();
    std::atomic<int> entries = 0;
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, lock = alice.lock(name, long_lived)] {
        while (const auto lease = lock.acquire()) ++entries;
      });
    }
    ASSERT_TRUE(eventually([&] { return entries > 20; }));
    ASSERT_TRUE(succeeded(alice.close(patient)));
    threads.clear();
    ASSERT_TRUE(succeeded(take_at_once(bob, name)));
    ASSERT_TRUE(world.nothing_left_but("a mark", name));
  }
}

// Any handle may be the last; what it points to lives as long as needed.
TEST_P(Closing, ByDroppingTheStoreLeavesItsLeasesAlone) {
  const auto bob = world.client();
  auto store = std::make_optional(world.client());
  auto lock = std::make_optional(store->lock(name));
  auto lease = lock->acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  store.reset();
  lock.reset();
  EXPECT_TRUE(world.renewed(*lease));
  EXPECT_FALSE(lost.stop_requested());
  EXPECT_TRUE(succeeded(lease->release()));
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
}

}  // namespace
}  // namespace holdfast
