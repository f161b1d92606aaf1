// Goal: the familiar shapes. The standard wrappers, with_lock and locked work as they read.

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/faulty.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Standard : public Conformance {
 protected:
  bool busy(const std::string& which) {
    const auto lease = bob.lock(which).try_acquire();
    return !lease && lease.error().errc() == Errc::busy;
  }
  // False by its deadline. Tries again if the machine stalled and the store was silent.
  template <class Attempt>
  static bool refused(Attempt attempt) {
    bool owns = true;
    return eventually([&] {
             try {
               owns = attempt();
             } catch (const Error& error) {
               return error.errc() != Errc::unavailable;
             }
             return true;
           }) &&
           !owns;
  }
  bool eventually_free(const std::string& which) { return take_at_once(bob, which).has_value(); }
  const Store alice = world.client();
  const Store bob = world.client();
};
HOLDFAST_ON_EVERY_STORE(Standard);

TEST_P(Standard, LockGuardAndScopedLock) {
  auto first = alice.lock("first");
  auto second = alice.lock("second");
  {
    const std::lock_guard guard(first);
    EXPECT_TRUE(busy("first"));
  }
  EXPECT_TRUE(eventually_free("first"));
  {
    const std::scoped_lock both(first, second);
    EXPECT_TRUE(busy("first"));
    EXPECT_TRUE(busy("second"));
  }
  EXPECT_TRUE(eventually_free("first"));
  EXPECT_TRUE(eventually_free("second"));
}

TEST_P(Standard, ScopedLocksInOppositeOrdersDoNotDeadlock) {
  std::vector<std::jthread> threads;
  std::atomic<int> entries = 0;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      const auto& client = thread == 0 ? alice : bob;
      auto first = client.lock(thread == 0 ? "a" : "b");
      auto second = client.lock(thread == 0 ? "b" : "a");
      for (int round = 0; round < scaled(30); ++round) {
        const std::scoped_lock both(first, second);
        ++entries;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(entries, 2 * scaled(30));
}

TEST_P(Standard, UniqueLock) {
  auto lock = alice.lock(name);
  std::unique_lock guard(lock, patient);
  ASSERT_TRUE(guard.owns_lock());
  EXPECT_TRUE(busy(name));
  guard.unlock();
  EXPECT_TRUE(eventually_free(name));
  EXPECT_TRUE(guard.try_lock_until(std::chrono::steady_clock::now() + patient));
  guard.unlock();

  const auto held = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  EXPECT_FALSE(std::unique_lock(lock, std::try_to_lock).owns_lock());
  EXPECT_TRUE(refused([&] { return std::unique_lock(lock, shortly).owns_lock(); }));
  EXPECT_TRUE(refused([&] {
    return std::unique_lock(lock, std::chrono::system_clock::now() + shortly).owns_lock();
  }));
}

TEST_P(Standard, SharedLock) {
  HOLDFAST_NEEDS(rw);
  auto ours = alice.rw_lock(name);
  auto theirs = bob.rw_lock(name);
  {
    const std::shared_lock reader(ours);
    const std::shared_lock other(theirs, patient);
    EXPECT_TRUE(other.owns_lock());
    std::jthread([&] {
      EXPECT_FALSE(std::unique_lock(theirs, std::try_to_lock).owns_lock());
    }).join();
  }
  {
    const std::unique_lock writer(ours, std::chrono::steady_clock::now() + patient);
    EXPECT_TRUE(writer.owns_lock());
    EXPECT_FALSE(std::shared_lock(theirs, std::try_to_lock).owns_lock());
    EXPECT_TRUE(refused([&] { return std::shared_lock(theirs, shortly).owns_lock(); }));
  }
  EXPECT_TRUE(theirs.try_lock_shared_until(std::chrono::system_clock::now() + patient));
  theirs.unlock_shared();
}

TEST_P(Standard, LockThrowsWhatItCannotReturn) {
  const auto code = [](const auto& call) {
    try {
      call();
    } catch (const std::system_error& error) {
      return error.code();
    }
    return std::error_code();
  };
  const auto nameless = alice.lock("");
  EXPECT_EQ(code([&] { nameless.lock(); }), Errc::invalid);
  EXPECT_EQ(code([&] { (void)nameless.try_lock(); }), Errc::invalid);
  const auto held = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  EXPECT_TRUE(busy_by_deadline([&]() -> Result<void> {
    try {
      alice.lock(name, {.wait = shortly}).lock();
    } catch (const Error& error) {
      return error;
    }
    return {};
  }));
  EXPECT_EQ(code([&] { (void)alice.lock(name).try_acquire().value(); }), Errc::busy);
}

TEST_P(Standard, WithLockHoldsWhileTheBodyRuns) {
  const auto sum = alice.with_lock(name, {.wait = patient}, [&](const Lease& lease) {
    EXPECT_TRUE(lease.valid());
    EXPECT_TRUE(busy(name));
    return 42;
  });
  ASSERT_TRUE(succeeded(sum));
  EXPECT_EQ(*sum, 42);
  EXPECT_TRUE(eventually_free(name));
  EXPECT_TRUE(succeeded(alice.with_lock(name, {}, [](const Lease&) {})));
}

TEST_P(Standard, WithLockDoesNotRunTheBodyWithoutTheLock) {
  const auto held = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  bool ran = false;
  EXPECT_TRUE(busy_by_deadline(
      [&] { return alice.with_lock(name, {.wait = shortly}, [&](const Lease&) { ran = true; }); }));
  EXPECT_TRUE(
      failed(alice.with_lock(name, {.wait = 0ms}, [&](const Lease&) { ran = true; }), Errc::busy));
  EXPECT_FALSE(ran);
}

TEST_P(Standard, WithLockPassesExceptionsThroughAndReleases) {
  const auto throwing = [](const Lease&) -> int { throw std::out_of_range("from the body"); };
  EXPECT_THROW((void)alice.with_lock(name, {}, throwing), std::out_of_range);
  EXPECT_TRUE(eventually_free(name));
}

TEST_P(Standard, WithLockTellsWhenTheLeaseEndedBeforeTheBody) {
  FaultyClient carol(world.url());
  bool ran = false;
  const auto result = carol.store().with_lock(name, {}, [&](const Lease& lease) {
    carol.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
    ran = lease.valid();
    jump(past_ttl);
    EXPECT_FALSE(lease.valid());
    return 1;
  });
  EXPECT_TRUE(ran);
  EXPECT_TRUE(failed(result, Errc::lost));
}

TEST_P(Standard, LockedFunctionsAreNamedByTheirArguments) {
  const auto sell =
      locked(alice, "stock/{}/{}", [&](int shelf, const std::string& goods, int count) {
        EXPECT_TRUE(busy("stock/" + std::to_string(shelf) + "/" + goods));
        EXPECT_FALSE(busy("stock/0/nothing"));
        return shelf * count;
      });
  const auto sold = sell(7, std::string("apples"), 3);
  ASSERT_TRUE(succeeded(sold));
  EXPECT_EQ(*sold, 21);

  const auto held = bob.lock("stock/8/pears").acquire();
  ASSERT_TRUE(succeeded(held));
  const auto try_sell = locked(alice, "stock/{}/pears", [](long) {}, {.wait = 0ms});
  EXPECT_TRUE(failed(try_sell(8), Errc::busy));
  EXPECT_TRUE(succeeded(try_sell(-9)));
}

TEST_P(Standard, ALockIsAValue) {
  auto lock = alice.lock(name);
  const auto copy = lock;
  lock.lock();
  EXPECT_TRUE(copy.try_lock());  // The same thread, the same lock.
  lock = alice.lock(name + "/other");
  copy.unlock();
  copy.unlock();
  EXPECT_TRUE(eventually_free(name));
}

}  // namespace
}  // namespace holdfast
