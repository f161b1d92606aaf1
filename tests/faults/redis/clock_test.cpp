// Servers whose clock is set (T03, T04). Redis counts by its own clock alone, so a jump ends leases
// early or late. The holder or waiter is told, and tokens hold.
#include "faults/redis/on_redis.hpp"
#include "support/peer.hpp"
#include "support/skewed_clock.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisServerTime : public OnRedis {
 protected:
  SkewedClock clock;
  RedisServer server{{.environment = clock.environment()}};
  const Store bob = open(server.url()).value();
};

// A documented hole: for up to ttl/3 there may be two holders.
TEST_F(RedisServerTime, T03SetForwardEndsALeaseEarly) {
  const Watched alice(server.url());
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  clock.set_ahead(60s);
  const auto next = bob.lock(name).try_acquire();
  ASSERT_TRUE(succeeded(next));
  EXPECT_GT(next->token(), lease->token());
  EXPECT_TRUE(lease->valid());
  come_due(alice.store);
  EXPECT_EQ(alice.why_lost(name), "gone");
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  EXPECT_TRUE(next->valid());
  EXPECT_EQ(holding(bob, name), 1);
}

TEST_F(RedisServerTime, T03SetForwardWithoutAnotherIsSurvived) {
  const Watched alice(server.url());
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  clock.set_ahead(10s);
  EXPECT_TRUE(renews_when_due(alice.store));
  EXPECT_TRUE(lease->valid());
  EXPECT_TRUE(succeeded(lease->release()));
}

// The dead holder's lease seems to end in an hour; the error says that this cannot be true.
TEST_F(RedisServerTime, T04SetBackKeepsADeadHolderAndIsNamed) {
  Peer peer(server.url());
  const Token killed = peer.acquire(name);
  clock.set_ahead(-1h);
  peer.kill();
  clock.set_ahead(past_ttl - 1h);
  for (const auto& refused :
       {bob.lock(name).try_acquire(), bob.lock(name).try_acquire_for(shortly)}) {
    ASSERT_TRUE(failed(refused, Errc::busy));
    EXPECT_EQ(refused.error().reason(), "clock_fault");
    EXPECT_TRUE(says(refused, "break --force"));
  }
  const auto outcome = holdfast_on(server.url(), {"run", name, "--wait", "500ms", "--", "true"});
  EXPECT_EQ(outcome.code, 75) << outcome.err;
  EXPECT_NE(outcome.err.find("clock"), std::string::npos) << outcome.err;
  EXPECT_EQ(holdfast_on(server.url(), {"break", "--force", name}).code, 0);
  const auto next = bob.lock(name).try_acquire();
  ASSERT_TRUE(succeeded(next));
  EXPECT_GT(next->token(), killed);  // though the clock is behind the last number
}

TEST_F(RedisServerTime, T04SetBackDoesNotHarmALiveHolder) {
  const Watched alice(server.url());
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  clock.set_ahead(-1h);
  EXPECT_TRUE(renews_when_due(alice.store));
  EXPECT_TRUE(lease->valid());
  EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
  std::optional<Result<Lease>> next;
  std::jthread waiter([&] { next.emplace(bob.lock(name).acquire()); });
  ASSERT_TRUE(eventually([&] { return waiting(alice.store, name) == 1; }));
  EXPECT_TRUE(succeeded(lease->release()));
  waiter.join();
  ASSERT_TRUE(succeeded(*next));
  EXPECT_GT((*next)->token(), lease->token());
}

}  // namespace
}  // namespace holdfast
