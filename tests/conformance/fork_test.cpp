// Goal: after fork the child owns nothing and the parent loses nothing.
// Method: a real fork. The child looks, reports by its exit status, and ends by _exit.

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Fork : public Conformance {};
HOLDFAST_ON_EVERY_STORE(Fork);

// How many of the checks failed in the child; -1 if it did not exit.
int failures_in_child(const std::function<int()>& checks) {
  const pid_t child = fork();
  if (child == 0) _exit(checks());
  int status = 0;
  EXPECT_TRUE(eventually([&] { return waitpid(child, &status, WNOHANG) == child; }));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <class T>
bool refused(const Result<T>& result) {
  return !result && result.error().errc() == Errc::invalid;
}

TEST_P(Fork, TheChildOwnsNothing) {
  const auto store = world.client();
  const auto lock = store.lock(name);
  const auto free = store.lock(name + "/free");
  auto lease = lock.acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_EQ(failures_in_child([&] {
              int failures = 0;
              failures += lease->valid();
              failures += lease->left() != 0ms;
              failures += !refused(lock.acquire());
              failures += !refused(free.try_acquire());
              failures += !refused(free.try_acquire_for(1s));
              failures += !refused(store.holders(name));
              failures += !refused(store.list());
              failures += !refused(store.revoke(name, true));
              failures += !refused(store.close(1s));
              failures += !refused(lease->release());
              lock.unlock();
              return failures;
            }),
            0);
  EXPECT_TRUE(lease->valid());
}

TEST_P(Fork, DestructorsInTheChildDoNothing) {
  auto store = std::make_optional(world.client());
  auto lease = std::make_optional(store->lock(name).acquire().value());
  const auto bob = world.client();
  EXPECT_EQ(failures_in_child([&] {
              lease.reset();
              store.reset();
              return 0;
            }),
            0);
  EXPECT_TRUE(lease->valid());
  EXPECT_EQ(holding(bob, name), 1);
  // For more than a ttl the parent is unaffected: it renews, and nobody else gets in.
  for (Millis passed{0}; passed < past_ttl; passed += world.renewal_due())
    ASSERT_TRUE(world.renewed(*lease, *store));
  EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
  EXPECT_TRUE(succeeded(lease->release()));
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
}

TEST_P(Fork, AWaitInTheParentGoesOn) {
  const auto alice = world.client();
  const auto bob = world.client();
  auto held = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  std::atomic<bool> granted = false;
  std::jthread waiter([&] { granted = alice.lock(name).acquire().has_value(); });
  ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1 || !world.traits().queues; }));
  EXPECT_EQ(failures_in_child([] { return 0; }), 0);
  ASSERT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(eventually([&] { return granted.load(); }));
}

#if !defined(__SANITIZE_THREAD__)  // TSan ends a forked child that starts threads.
// Forks while a lock is held, like servers that fork their workers.
TEST_P(Fork, TheChildMayOpenTheStoreAnew) {
  HOLDFAST_NEEDS(forks);
  HOLDFAST_NEEDS(processes);
  const auto store = world.client();
  const auto lease = store.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_EQ(failures_in_child([&] {
              const auto own = open(world.url());
              if (!own) return 1;
              const auto busy = own->lock(name).try_acquire();
              if (busy || busy.error().errc() != Errc::busy) return 2;
              return own->lock(name + "/child").try_acquire() ? 0 : 3;
            }),
            0);
  EXPECT_TRUE(lease->valid());
  EXPECT_TRUE(world.nothing_left(name + "/child"));
}
#endif

}  // namespace
}  // namespace holdfast
