// The network faults of the fault catalogue (N) as a backend sees them: requests and
// replies that are lost, late or slow. The sweep over all calls is in lost_reply_test.

#include <atomic>
#include <thread>

#include "support/diary.hpp"
#include "support/faulty.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class NetworkFaults : public Conformance {
 protected:
  FaultyClient alice{world.url(), {.patience = 2s}};
  const Store bob = world.client();
  const LockOptions long_lived{.ttl = held_long};
};
HOLDFAST_ON_EVERY_STORE(NetworkFaults);

TEST_P(NetworkFaults, N01StoreThatRefuses) {
  alice.inject({.fault = Fault::refusal, .calls = asks, .count = for_good});
  EXPECT_TRUE(failed(alice.store().lock(name).try_acquire(), Errc::unavailable));
  EXPECT_TRUE(
      failed(alice.store().lock(name).try_acquire_for(300ms), Errc::unavailable));  // Not busy.
  EXPECT_TRUE(failed(alice.store().lock(name).acquire(), Errc::unavailable));       // At patience.
  alice.heal();
  EXPECT_TRUE(succeeded(alice.store().lock(name).try_acquire()));
}

TEST_P(NetworkFaults, N01StoreThatComesBackInTime) {
  alice.inject({.fault = Fault::refusal, .calls = asks, .count = 3});
  EXPECT_TRUE(succeeded(alice.store().lock(name).acquire()));
  EXPECT_EQ(alice.injected(), 3);
}

TEST_P(NetworkFaults, N03SilenceWhileHeld) {
  const Diary diary;
  FaultyClient carol(world.url(), diary.options());
  const auto lease = carol.store().lock(name, {.ttl = 2s, .margin = 500ms}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  carol.inject({.fault = Fault::silence, .calls = ending(world.traits()), .count = for_good});
  const auto next = bob.lock(name).acquire();
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(eventually([&] { return diary.count(name, Event::Kind::at_risk) == 1; }));
  carol.heal();
  EXPECT_TRUE(next->valid());
}

TEST_P(NetworkFaults, N05ReplyOfAcquireIsLost) {
  alice.inject({.fault = Fault::lost_reply, .calls = asks});
  const auto lease = alice.store().lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_EQ(alice.injected(), 1);
  EXPECT_EQ(listed(bob, name).size(), 1U);  // Once, and not beside its own orphan.
  EXPECT_TRUE(lease->valid());
}

TEST_P(NetworkFaults, N06ReplyOfReleaseIsLost) {
  auto lease = alice.store().lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  alice.inject({.fault = Fault::lost_reply, .calls = releases});
  EXPECT_TRUE(succeeded(lease->release()));  // The second request found it done.
  EXPECT_EQ(alice.injected(), 1);
  EXPECT_TRUE(succeeded(bob.lock(name).try_acquire()));
}

// The store has renewed it every time; but nobody told us, so we must not count on it.
TEST_P(NetworkFaults, N07RepliesOfRenewalsAreLost) {
  auto lease = alice.store().lock(name, {.ttl = 1s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  alice.inject({.fault = Fault::lost_reply, .calls = keeping, .count = for_good});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually([&] { return !lease->valid(); }));
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_GT(alice.injected(), 1);
  EXPECT_TRUE(succeeded(bob.lock(name).acquire()));
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  EXPECT_GT(std::chrono::steady_clock::now(), start);
}

TEST_P(NetworkFaults, N07OneLostReplyOfARenewalIsHealedByTheNext) {
  const auto lease = alice.store().lock(name, {.ttl = 2s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  alice.inject({.fault = Fault::lost_reply, .calls = keeping});
  ASSERT_TRUE(eventually([&] { return alice.injected() == 1; }));
  const auto before = world.renewals(alice.store());  // More than a ttl ago at the end.
  ASSERT_TRUE(eventually([&] { return world.renewals(alice.store()) >= before + 4; }));
  EXPECT_EQ(alice.injected(), 1);
  EXPECT_TRUE(lease->valid());
}

TEST_P(NetworkFaults, N11LateRequestAfterItsWithdrawal) {
  alice.inject({.fault = Fault::late_request, .calls = asks, .count = for_good});
  EXPECT_TRUE(failed(alice.store().lock(name, long_lived).try_acquire(), Errc::unavailable));
  ASSERT_GT(alice.injected(), 0);
  alice.heal();
  ASSERT_TRUE(eventually([&] { return alice.store().stats().debts == 0; }));
  alice.deliver_late();
  EXPECT_TRUE(listed(bob, name).empty());
  EXPECT_TRUE(succeeded(bob.lock(name).try_acquire()));
}

// The first request was thought lost, the second got the lock, it was released: then comes the
// first.
TEST_P(NetworkFaults, N11LateRequestAfterItsRelease) {
  alice.inject({.fault = Fault::late_request, .calls = asks, .count = 1});
  {
    const auto lease = alice.store().lock(name, long_lived).acquire();
    ASSERT_TRUE(succeeded(lease));
    ASSERT_EQ(alice.injected(), 1);
  }
  ASSERT_TRUE(eventually([&] { return listed(bob, name).empty(); }));
  alice.deliver_late();
  EXPECT_TRUE(listed(bob, name).empty());
  EXPECT_TRUE(succeeded(bob.lock(name).try_acquire()));
}

// The margin takes all that is left by then. A session is worth nothing while nothing proves it.
TEST_P(NetworkFaults, N13ReplyThatComesWhenTheLeaseIsWorthless) {
  alice.inject({.fault = Fault::slow_reply, .calls = asks | proofs, .count = for_good});
  const auto lease = alice.store().lock(name, {.ttl = 1s, .margin = 500ms}).try_acquire();
  ASSERT_TRUE(failed(lease, Errc::unavailable));
  EXPECT_EQ(lease.error().reason(), "too_slow");
  alice.heal();
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
  EXPECT_TRUE(eventually_nothing_left(bob, name));
}

// The first renewal is due by then, and must not be answered before we look.
TEST_P(NetworkFaults, N13SlowRepliesShortenTheLease) {
  alice.inject({.fault = Fault::slow_reply, .calls = asks | renewals, .count = for_good});
  const auto lease = alice.store().lock(name, {.ttl = 3s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_LT(lease->left(), 2s + 100ms);  // The reply came after a second.
}

}  // namespace
}  // namespace holdfast
