// Goal: a stop token and a deadline take effect at once and leave nothing behind but the mark of an
// ask that was under way. If they race with a grant, there is either a valid lease or nothing.

#include <atomic>
#include <thread>
#include <vector>

#include "support/faulty.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Cancel : public Conformance {};
HOLDFAST_ON_EVERY_STORE(Cancel);

TEST_P(Cancel, EndsAWaitAndLeavesTheLine) {
  const auto alice = world.client();
  const auto bob = world.client();
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  std::stop_source stop;
  std::atomic<bool> cancelled = false;
  std::jthread waiter(
      [&] { cancelled = bool(failed(bob.lock(name).acquire(stop.get_token()), Errc::cancelled)); });
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1 || !world.traits().queues; }));
  EXPECT_FALSE(cancelled);
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return cancelled.load(); }));
  EXPECT_TRUE(eventually([&] { return waiting(alice, name) == 0; }));
  EXPECT_TRUE(held->valid());
  ASSERT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(world.nothing_left_but("a mark", name));
}

TEST_P(Cancel, BeforeTheCallAsksNothing) {
  FaultyClient alice(world.url());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(failed(alice.store().lock(name).acquire(stop.get_token()), Errc::cancelled));
  EXPECT_TRUE(
      failed(alice.store().lock(name).try_acquire_for(1s, stop.get_token()), Errc::cancelled));
  EXPECT_EQ(alice.seen(asks), 0);
}

TEST_P(Cancel, ByDeadlineIsBusyAndLeavesTheLine) {
  const auto alice = world.client();
  const auto bob = world.client();
  const auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(busy_by_deadline([&] { return bob.lock(name).try_acquire_for(200ms); }));
  EXPECT_TRUE(busy_by_deadline([&] { return bob.lock(name, {.wait = 200ms}).acquire(); }));
  EXPECT_TRUE(busy_by_deadline(
      [&] { return bob.lock(name).try_acquire_until(std::chrono::system_clock::now() + 200ms); }));
  EXPECT_TRUE(failed(alice.lock(name).try_acquire_for(200ms), Errc::busy));  // By the same client.
  EXPECT_GE(std::chrono::steady_clock::now() - start, 790ms);
  EXPECT_TRUE(failed(bob.lock(name).try_acquire_for(0ms), Errc::busy));
  EXPECT_TRUE(failed(bob.lock(name).try_acquire_for(-5s), Errc::busy));
  EXPECT_TRUE(eventually([&] { return listed(alice, name).size() == 1; }));
  EXPECT_TRUE(held->valid());
}

TEST_P(Cancel, OfOneLeavesTheOthersInLine) {
  const auto alice = world.client();
  const auto bob = world.client();
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  std::stop_source stop;
  std::atomic<int> granted = 0, cancelled = 0;
  std::vector<std::jthread> waiters;
  for (int waiter = 0; waiter < 6; ++waiter) {
    waiters.emplace_back([&, token = waiter % 2 == 0 ? stop.get_token() : std::stop_token()] {
      const auto lease = bob.lock(name).acquire(token);
      ++(lease ? granted : cancelled);
    });
  }
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1 || !world.traits().queues; }));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return cancelled == 3; }));
  ASSERT_TRUE(succeeded(held->release()));
  waiters.clear();
  EXPECT_EQ(granted, 3);
  EXPECT_TRUE(world.nothing_left_but("a mark", name));
}

// Release and stop start at the same moment, on different threads.
TEST_P(Cancel, RacingWithAGrantHasOneWinner) {
  const auto alice = world.client();
  const Store others[] = {alice, world.client()};  // Handed over at the gate, and by the store.
  for (int round = 0; round < scaled(200); ++round) {
    auto held = alice.lock(name).acquire();
    ASSERT_TRUE(succeeded(held));
    std::stop_source stop;
    std::atomic<bool> go = false;
    std::jthread waiter([&] {
      const auto lease = others[round % 2].lock(name).acquire(stop.get_token());
      EXPECT_TRUE(lease ? lease->valid() : lease.error().errc() == Errc::cancelled);
    });
    std::jthread canceller([&] {
      go.wait(false);
      stop.request_stop();
    });
    go = true;
    go.notify_all();
    ASSERT_TRUE(succeeded(held->release()));
    waiter.join();
    ASSERT_TRUE(succeeded(take_at_once(others[(round + 1) % 2], name))) << "in round " << round;
  }
  EXPECT_TRUE(world.nothing_left_but("a mark", name));
}

// Deadlines as short as one answer of the store. Without an answer by then, it is unavailable.
TEST_P(Cancel, RacingDeadlinesLeaveNothing) {
  const auto alice = world.client();
  const auto bob = world.client();
  std::vector<std::jthread> threads;
  std::atomic<int> entries = 0;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&, lock = (thread % 2 == 0 ? alice : bob).lock(name)] {
      for (int round = 0; round < scaled(200); ++round) {
        const auto lease = lock.try_acquire_for(Millis(round % 5));
        if (lease) ++entries;
        EXPECT_TRUE(lease || lease.error().errc() == Errc::busy ||
                    lease.error().errc() == Errc::unavailable)
            << lease.error().what();
      }
    });
  }
  threads.clear();
  EXPECT_GT(entries, 0);
  EXPECT_TRUE(world.nothing_left_but("a mark", name));
  EXPECT_TRUE(succeeded(take_at_once(alice, name)));
}

// The store does not answer the ask, and the caller does not wait for it.
TEST_P(Cancel, OfAnAskUnderWayReturnsAtOnceAndIsFollowedUp) {
  FaultyClient alice(world.url());
  const auto bob = world.client();
  std::stop_source stop;
  alice.inject({.fault = Fault::silence, .calls = asks, .count = for_good});
  std::atomic<bool> cancelled = false;
  std::jthread waiter([&] {
    cancelled = bool(failed(alice.store().lock(name).acquire(stop.get_token()), Errc::cancelled));
  });
  ASSERT_TRUE(eventually([&] { return alice.injected() > 0; }));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return cancelled.load(); }));
  alice.heal();
  jump(6s);  // The silent ask times out and is followed up.
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
  EXPECT_TRUE(eventually([&] { return alice.store().stats().debts == 0; }));
  EXPECT_TRUE(world.nothing_left_but("a mark", name));
}

class CancelClock : public Cancel {};
HOLDFAST_ON_EVERY_STORE(CancelClock);

// Without answers it gives up, although it was told to wait for ever.
TEST_P(CancelClock, ByPatienceIsUnavailableAndLeavesNothing) {
  FaultyClient alice(world.url(), {.patience = 1s});
  const auto bob = world.client();
  for (const auto fault :
       {Fault::silence, Fault::lost_request, Fault::lost_reply, Fault::refusal}) {
    SCOPED_TRACE(static_cast<int>(fault));
    alice.inject({.fault = fault, .calls = asks, .count = for_good});
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(failed(alice.store().lock(name).acquire(), Errc::unavailable));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);  // What one request may take.
    EXPECT_GT(alice.injected(), 0);
    alice.heal();
    EXPECT_TRUE(succeeded(take_at_once(bob, name)));
    EXPECT_TRUE(world.nothing_left_but("a mark", name));
  }
  // The machine may stall for longer than this patience.
  EXPECT_TRUE(eventually([&] { return bool(alice.store().lock(name).acquire()); }));
}

}  // namespace
}  // namespace holdfast
