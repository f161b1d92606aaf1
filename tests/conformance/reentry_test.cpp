// Goal: a holder may enter again, and only a holder: a thread by lock() and with_lock(), a handle
// by its Owner. Nobody waits for itself, and nobody gets in on the strength of a lease that has
// ended.

#include <atomic>
#include <latch>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "support/diary.hpp"
#include "support/faulty.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Reentry : public Conformance {};
HOLDFAST_ON_EVERY_STORE(Reentry);

TEST_P(Reentry, ByThreadCountsItsReleases) {
  const auto alice = world.client();
  const auto bob = world.client();
  const auto lock = alice.lock(name);
  for (int depth = 0; depth < 3; ++depth) lock.lock();
  lock.unlock();
  lock.unlock();
  EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));  // n - 1: still held
  lock.unlock();
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));  // n: free
}

TEST_P(Reentry, OneReleaseTooManyChangesNothing) {
  const Diary diary;
  const auto alice = world.client(diary.options());
  const auto bob = world.client();
  const auto lock = alice.lock(name);
  lock.lock();
  lock.unlock();
  const auto held = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  lock.unlock();  // n + 1
  EXPECT_TRUE(eventually([&] { return diary.count(name, Event::Kind::not_held) == 1; }));
  EXPECT_TRUE(held->valid());
  EXPECT_EQ(holding(bob, name), 1);
}

TEST_P(Reentry, AnotherThreadNeitherEntersNorReleases) {
  const auto alice = world.client();
  const auto lock = alice.lock(name);
  lock.lock();
  std::jthread([&] {
    EXPECT_FALSE(lock.try_lock());
    EXPECT_FALSE(lock.try_lock_for(50ms));
    lock.unlock();
  }).join();
  EXPECT_TRUE(failed(world.client().lock(name).try_acquire(), Errc::busy));
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  lock.unlock();
  EXPECT_TRUE(world.nothing_left(name));
}

TEST_P(Reentry, AHandleDoesNotEnterByThread) {
  const auto alice = world.client();
  const auto lock = alice.lock(name);
  lock.lock();
  EXPECT_TRUE(failed(lock.try_acquire(), Errc::busy));
  lock.unlock();
  const auto lease = lock.acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_FALSE(lock.try_lock());
}

// Two locks of one name are one, even if two threads make them at the same moment.
TEST_P(Reentry, OfLocksThatWereMadeAtOnce) {
  const auto alice = world.client();
  for (int round = 0; round < scaled(300); ++round) {
    const std::string each = "made " + std::to_string(round);
    std::latch start(2);
    std::optional<Lock> theirs;
    std::jthread other([&] {
      start.arrive_and_wait();
      theirs = alice.lock(each);
    });
    start.arrive_and_wait();
    const Lock ours = alice.lock(each);
    other.join();
    ours.lock();
    ASSERT_TRUE(theirs->try_lock()) << each;
    theirs->unlock();
    ours.unlock();
  }
}

TEST_P(Reentry, WithLockNestsAndKeepsItsToken) {
  const auto alice = world.client();
  const auto bob = world.client();
  const auto lock = alice.lock(name);
  const auto depth = alice.with_lock(name, {}, [&](const Lease& outer) {
    auto inner = alice.with_lock(name, {.wait = 0ms}, [&](const Lease& again) {
      EXPECT_EQ(again.token(), outer.token());
      EXPECT_TRUE(lock.try_lock());
      lock.unlock();
      return 2;
    });
    EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));  // Still held by the outer.
    EXPECT_TRUE(outer.valid());
    return inner.value();
  });
  ASSERT_TRUE(succeeded(depth));
  EXPECT_EQ(*depth, 2);
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
}

TEST_P(Reentry, OfHandlesIsByOwner) {
  const auto alice = world.client();
  const auto bob = world.client();
  const auto me = Owner::fresh();
  auto first = alice.lock(name, {.owner = me}).acquire();
  ASSERT_TRUE(succeeded(first));
  auto second = alice.lock(name, {.owner = me}).try_acquire();
  ASSERT_TRUE(succeeded(second));
  EXPECT_EQ(first->token(), second->token());
  EXPECT_TRUE(failed(alice.lock(name, {.owner = Owner::fresh()}).try_acquire(), Errc::busy));
  EXPECT_TRUE(failed(alice.lock(name).try_acquire(), Errc::busy));

  EXPECT_TRUE(succeeded(first->release()));
  EXPECT_FALSE(first->valid());
  EXPECT_TRUE(second->valid());
  EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
  EXPECT_TRUE(succeeded(first->release()));  // No effect: the other is still in.
  EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
  EXPECT_TRUE(succeeded(second->release()));
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
}

TEST_P(Reentry, ComesBeforeThoseWhoWait) {
  const auto alice = world.client();
  const auto bob = world.client();
  const auto lock = alice.lock(name);
  lock.lock();
  std::atomic<bool> entered = false;
  std::jthread other([&] { entered = bob.lock(name).acquire().has_value(); });
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1 || !world.traits().queues; }));
  for (int depth = 0; depth < 100; ++depth) ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(entered);
  for (int depth = 0; depth < 101; ++depth) lock.unlock();
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
}

TEST_P(Reentry, AfterALossIsRefused) {
  FaultyClient alice(world.url());
  const auto lock = alice.store().lock(name);
  lock.lock();
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
  jump(past_ttl);
  ASSERT_TRUE(eventually([&] { return alice.store().stats().lost == 1; }));
  alice.heal();
  const auto code = [&] {
    try {
      lock.lock();
    } catch (const Error& error) {
      return error.errc();
    }
    return Errc{};
  }();
  EXPECT_EQ(code, Errc::lost);
  lock.unlock();
  lock.lock();  // All were let go, so this is a new one.
  lock.unlock();
  EXPECT_TRUE(world.nothing_left_but("a mark", name));  // Of the lost one.
}

TEST_P(Reentry, OfAHandleAfterALossIsRefused) {
  FaultyClient alice(world.url());
  const auto lock = alice.store().lock(name, {.owner = Owner::fresh()});
  auto first = lock.acquire();
  ASSERT_TRUE(succeeded(first));
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
  jump(past_ttl);
  ASSERT_TRUE(eventually([&] { return alice.store().stats().lost == 1; }));
  alice.heal();
  EXPECT_TRUE(failed(lock.try_acquire(), Errc::lost));
  EXPECT_TRUE(failed(first->release(), Errc::lost));
  EXPECT_TRUE(succeeded(lock.try_acquire_for(patient)));
}

TEST_P(Reentry, AReaderThatAsksForWriteIsRefused) {
  HOLDFAST_NEEDS(rw);
  const auto alice = world.client();
  const auto both = alice.rw_lock(name);
  both.lock_shared();
  EXPECT_THROW(both.lock(), Error);
  EXPECT_THROW((void)both.try_lock_for(10ms), Error);
  both.lock_shared();  // Reading again is fine.
  both.unlock_shared();
  both.unlock_shared();
  EXPECT_TRUE(both.try_lock());
  both.unlock();

  const auto owned = alice.rw_lock(name, {.owner = Owner::fresh()});
  const auto reader = owned.read().acquire();
  ASSERT_TRUE(succeeded(reader));
  EXPECT_TRUE(failed(owned.write().acquire(), Errc::invalid));
}

TEST_P(Reentry, AWriterMayRead) {
  HOLDFAST_NEEDS(rw);
  const auto alice = world.client();
  const auto owned = alice.rw_lock(name, {.owner = Owner::fresh()});
  auto writer = owned.write().acquire();
  ASSERT_TRUE(succeeded(writer));
  auto reader = owned.read().try_acquire();
  ASSERT_TRUE(succeeded(reader));
  EXPECT_EQ(reader->token(), writer->token());
  EXPECT_TRUE(succeeded(reader->release()));
  EXPECT_TRUE(writer->valid());
}

}  // namespace
}  // namespace holdfast
