// Goal: every option has bounds. The first acquire refuses a value outside them, in words, and does
// not touch the store.

#include <limits>

#include "support/faulty.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

constexpr Millis least = Millis::min();

class Options : public Conformance {
 protected:
  void refuses(const LockOptions& options) {
    const auto refused = alice.store().lock(name, options).acquire();
    EXPECT_TRUE(failed(refused, Errc::invalid));
    EXPECT_TRUE(refused || !refused.error().message().empty());
    EXPECT_TRUE(failed(alice.store().rw_lock(name, options).write().try_acquire(), Errc::invalid));
    EXPECT_EQ(alice.seen(asks), 0);
  }
  void takes(const LockOptions& options) {
    EXPECT_TRUE(succeeded(alice.store().lock(name, options).acquire()));
  }
  FaultyClient alice{world.url()};
};
HOLDFAST_ON_EVERY_STORE(Options);

TEST_P(Options, Ttl) {
  refuses({.ttl = 0ms});
  refuses({.ttl = -1ms});
  refuses({.ttl = least});
  refuses({.ttl = forever});
  refuses({.ttl = world.traits().ttl_min - 1ms});
  refuses({.ttl = world.traits().ttl_max + 1ms});
  // A lease this short may end before its answer is here, so this is tried more than once.
  const auto least_ttl = alice.store().lock(name, {.ttl = world.traits().ttl_min});
  EXPECT_TRUE(eventually([&] {
    const auto lease = least_ttl.acquire();
    return lease || lease.error().errc() == Errc::invalid;
  }));
  EXPECT_FALSE(failed(least_ttl.acquire(), Errc::invalid));
  takes({.ttl = world.traits().ttl_max});
}

TEST_P(Options, Wait) {
  refuses({.wait = -1ms});
  refuses({.wait = least});
  takes({.wait = 0ms});
  takes({.wait = forever - 1ms});
  takes({.wait = forever});
}

TEST_P(Options, HoldAtMost) {
  refuses({.hold_at_most = 0ms});
  refuses({.hold_at_most = -1ms});
  refuses({.hold_at_most = least});
  takes({.hold_at_most = 5s});
  takes({.hold_at_most = forever - 1ms});
}

TEST_P(Options, LockDelay) {
  refuses({.lock_delay = -1ms});
  refuses({.lock_delay = least});
  refuses({.lock_delay = forever});
  takes({.lock_delay = 1s});
}

TEST_P(Options, Margin) {
  refuses({.margin = -1ms});
  refuses({.margin = least});
  refuses({.ttl = 30s, .margin = 30s});
  refuses({.ttl = 30s, .margin = forever});
  takes({.ttl = 30s, .margin = 10s});
}

TEST_P(Options, Label) {
  refuses({.label = std::string(1025, 'x')});
  takes({.label = std::string(1024, 'x')});
  takes({.label = "two\nlines \x1b[31m and a \xff"});
}

// The text may be gone when permits() makes a lock of it.
TEST_P(Options, LabelOfASemaphoreIsCopied) {
  HOLDFAST_NEEDS(semaphore);
  const auto& store = alice.store();
  auto text = std::make_unique<std::string>(100, 'x');
  const auto semaphore = store.semaphore(name, 5, {.label = *text});
  text->assign(100, 'y');
  text.reset();
  const auto lease = semaphore.permits(1).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto holders = listed(store, name);
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_NE(holders.front().who.find(std::string(100, 'x')), std::string::npos);
}

TEST_P(Options, Permits) {
  HOLDFAST_NEEDS(semaphore);
  const auto most = std::numeric_limits<std::uint32_t>::max();
  const auto& store = alice.store();
  EXPECT_TRUE(failed(store.semaphore(name, 0).permits(1).acquire(), Errc::invalid));
  EXPECT_TRUE(failed(store.semaphore(name, 5).permits(0).acquire(), Errc::invalid));
  EXPECT_TRUE(failed(store.semaphore(name, 5).permits(6).acquire(), Errc::invalid));
  EXPECT_TRUE(failed(store.semaphore(name, 5).permits(most).acquire(), Errc::invalid));
  EXPECT_EQ(alice.seen(asks), 0);
  EXPECT_TRUE(succeeded(store.semaphore(name, 5).permits(5).acquire()));
  EXPECT_TRUE(succeeded(store.semaphore(name, 1).permits(1).acquire()));
}

TEST_P(Options, DeadlinesOfAnyUnit) {
  const auto held = alice.store().lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  const auto bob = world.client();
  const auto lock = bob.lock(name);
  EXPECT_TRUE(failed(lock.try_acquire_for(least), Errc::busy));
  EXPECT_TRUE(
      failed(lock.try_acquire_until(std::chrono::steady_clock::time_point::min()), Errc::busy));
  EXPECT_FALSE(lock.try_lock_for(std::chrono::nanoseconds(1)));
  EXPECT_FALSE(lock.try_lock_for(std::chrono::duration<double>(0.001)));
  EXPECT_FALSE(lock.try_lock_for(std::chrono::hours(-1)));
  EXPECT_FALSE(lock.try_lock_until(std::chrono::system_clock::now() - 1h));
  const auto other = bob.lock(name + "/free");
  EXPECT_TRUE(other.try_lock_for(std::chrono::hours::max()));
  other.unlock();
  EXPECT_TRUE(other.try_lock_for(std::chrono::nanoseconds::max()));
  other.unlock();
}

TEST_P(Options, PurposeIsGivenOrRefused) {
  const auto promised = alice.store().guarantees();
  ASSERT_TRUE(succeeded(promised));
  EXPECT_FALSE(promised->because.empty());
  EXPECT_EQ(promised->tokens, world.traits().tokens);
  const auto lease = alice.store().lock(name, {.purpose = Purpose::correctness}).acquire();
  if (promised->purpose == Purpose::correctness) {
    EXPECT_TRUE(succeeded(lease));
  } else {
    ASSERT_TRUE(failed(lease, Errc::unsupported));
    EXPECT_FALSE(lease.error().message().empty());
    EXPECT_TRUE(succeeded(alice.store().lock(name).acquire()));
  }
}

TEST_P(Options, OfTheUrlAreChecked) {
  for (const auto* bad : {"handover=0", "handover=1001", "handover=-1", "handover=",
                          "handover=maybe", "colour=red", "prefix", "handover=off&handover=5"}) {
    const auto store = open(world.url(bad));
    EXPECT_TRUE(failed(store, Errc::invalid)) << bad;
  }
  for (const auto* good :
       {"handover=1", "handover=1000", "handover=off", "prefix=a%2Fb&handover=off"})
    EXPECT_TRUE(succeeded(open(world.url(good)))) << good;
}

TEST_P(Options, OfTheStoreAreChecked) {
  EXPECT_TRUE(failed(open(world.url(), {.patience = 0ms}), Errc::invalid));
  EXPECT_TRUE(failed(open(world.url(), {.patience = -1ms}), Errc::invalid));
  EXPECT_TRUE(failed(open(world.url(), {.release_deadline = -1ms}), Errc::invalid));
  EXPECT_TRUE(succeeded(open(world.url(), {.patience = forever, .release_deadline = 0ms})));
}

}  // namespace
}  // namespace holdfast
