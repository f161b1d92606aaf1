// The network faults of docs/faults.md (N) as a backend sees them: requests and
// replies that are lost, late or slow. The sweep over all calls is in lost_reply_test.

#include <future>

#include "faults/outlives.hpp"
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
  // Returns when the store has done it; the answer is held back until its deadline.
  std::future<Result<Lease>> ask_slowly(const LockOptions& options) {
    auto lease = std::async(std::launch::async, [&, options] {
      return alice.store().lock(name, options).try_acquire();
    });
    // Waits until the store has answered, because a jump would end a request on its way.
    EXPECT_TRUE(
        eventually([&] { return listed(bob, name).size() == 1 && alice.unanswered() > 0; }));
    return lease;
  }

  FaultyClient alice{world.url()};
  const Store bob = world.client();
  const LockOptions long_lived{.ttl = held_long};
};
HOLDFAST_ON_EVERY_STORE(NetworkFaults);

TEST_P(NetworkFaults, N01StoreThatRefuses) {
  const Injection refusals{.fault = Fault::refusal, .calls = asks, .count = for_good};
  alice.inject(refusals);
  EXPECT_TRUE(failed(alice.store().lock(name).try_acquire(), Errc::unavailable));
  EXPECT_TRUE(
      failed(alice.store().lock(name).try_acquire_for(300ms), Errc::unavailable));  // Not busy.
  FaultyClient impatient(world.url(), {.patience = 300ms});
  impatient.inject(refusals);
  EXPECT_TRUE(failed(impatient.store().lock(name).acquire(), Errc::unavailable));
  alice.heal();
  EXPECT_TRUE(succeeded(alice.store().lock(name).try_acquire()));
}

TEST_P(NetworkFaults, N01StoreThatComesBackInTime) {
  alice.inject({.fault = Fault::refusal, .calls = asks, .count = 3});
  EXPECT_TRUE(succeeded(alice.store().lock(name).acquire()));
  EXPECT_EQ(alice.injected(), 3);
}

// Loss.IsSignalledBeforeAnotherIsGranted: it is told before the lease ends at the store.
TEST_P(NetworkFaults, N03SilenceWhileHeld) {
  const Diary diary;
  FaultyClient carol(world.url(), diary.options());
  const auto lease = carol.store().lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  carol.inject({.fault = Fault::silence, .calls = ending(world.traits()), .count = for_good});
  jump(lease->left() - 5s);
  EXPECT_TRUE(eventually([&] { return diary.count(name, Event::Kind::at_risk) == 1; }));
  EXPECT_EQ(diary.count(name, Event::Kind::lost), 0);
  jump(past_ttl);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(lease->valid());
  if (world.traits().validity == Validity::claim) world.end_holder(name);
  const auto next = take_at_once(bob, name);
  ASSERT_TRUE(succeeded(next));
  EXPECT_EQ(diary.count(name, Event::Kind::at_risk), 1);
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

// The store renews it every time, but we do not hear of it, so we must not count on it.
TEST_P(NetworkFaults, N07RepliesOfRenewalsAreLost) {
  auto lease = alice.store().lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  alice.inject({.fault = Fault::lost_reply, .calls = keeping, .count = for_good});
  for (const Millis due : {past_renewal, 3000ms}) {  // The second attempt comes soon.
    const int before = alice.injected();
    jump(due);
    ASSERT_TRUE(eventually([&] {
      (void)listed(alice.store(), name);  // Any answer proves a session.
      return alice.injected() > before && alice.store().stats().at_risk == 1;
    }));
  }
  EXPECT_TRUE(lease->valid());
  jump(lease->left() + 2s);  // The store still counts it, even one that uses our clock.
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
}

TEST_P(NetworkFaults, N07OneLostReplyOfARenewalIsHealedByTheNext) {
  const auto lease = alice.store().lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  alice.inject({.fault = Fault::lost_reply, .calls = keeping});
  jump(lasts(world) / 3 + 1s);
  ASSERT_TRUE(eventually([&] { return alice.store().stats().at_risk == 1; }));
  if (world.traits().validity == Validity::claim) jump(3s);  // A session soon asks by itself.
  ASSERT_TRUE(eventually([&] { return lease->left() > lasts(world) * 2 / 3; }));
  EXPECT_TRUE(outlives_its_ttl(*lease, world));
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

// The first request seemed lost, and the second got the lock, which was released. Now the first one
// arrives.
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

// The store would keep it for a while. A session is worth nothing while nothing proves it.
TEST_P(NetworkFaults, N13ReplyThatComesWhenTheLeaseIsWorthless) {
  alice.inject({.fault = Fault::slow_reply, .calls = asks | proofs, .count = for_good});
  auto asked = ask_slowly(long_lived);
  jump(held_long - 30s);
  const auto lease = asked.get();
  ASSERT_TRUE(failed(lease, Errc::unavailable));
  EXPECT_EQ(lease.error().reason(), "too_slow");
  alice.heal();
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
  EXPECT_TRUE(world.nothing_left_but("a mark", name));
}

// Renewals are slow as well, so that none is answered before we look. A session has proofs of its
// own, so a slow answer does not shorten it.
TEST_P(NetworkFaults, N13SlowRepliesShortenTheLease) {
  constexpr Millis late = 7s;
  alice.inject({.fault = Fault::slow_reply, .calls = asks | renewals, .count = for_good});
  auto asked = ask_slowly({});
  jump(late);
  const auto lease = asked.get();
  ASSERT_TRUE(succeeded(lease));
  const bool counts_from_the_ask = world.traits().validity == Validity::claim;
  EXPECT_LT(lease->left(), lasts(world) - (counts_from_the_ask ? late : 0ms));
}

}  // namespace
}  // namespace holdfast
