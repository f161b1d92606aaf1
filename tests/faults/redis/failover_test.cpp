// Failovers (S06, S08). Elsewhere: S07 and S09 in redis_sentinel_test, S08 of an acquire in
// redis_replicas_test.
#include "faults/redis/on_redis.hpp"
#include "support/redis/replicas.hpp"
#include "support/skewed_clock.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisFailover : public OnRedis {
 protected:
  // On a busy machine, sentinels that act by themselves would replace a healthy master.
  static constexpr Millis never_by_themselves{60'000};
};

// How far a replica lags is up to chance, so the test deletes the lock on those that may take over.
TEST_F(RedisFailover, S06ToAReplicaThatLacksTheLockIsGuarded) {
  SkewedClock clock;  // for the servers; the sentinels have the real one
  RedisReplicas redis{never_by_themselves, {.environment = clock.environment()}};
  const std::string url = redis.url() + "?guard=on&guard_ttl=40s";
  ASSERT_TRUE(succeeded(open(url)->init(Init::as_new)));
  auto& old = redis.master();
  const Watched alice(url);
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  old.kill();
  for (const auto& server : redis.servers()) {
    if (server.get() == &old) continue;
    auto replica = server->client();
    replica.command({"CONFIG", "SET", "replica-read-only", "no"});
    replica.command({"DEL", key});
  }
  auto& master = redis.failover();
  ASSERT_EQ(master.client().command({"EXISTS", key}).integer, 0);

  const auto bob = open(url).value();
  const auto guarded = [&] {
    const auto refused = bob.lock(name).try_acquire();
    ASSERT_TRUE(failed(refused, Errc::unavailable));
    EXPECT_EQ(refused.error().reason(), "quarantine");
  };
  guarded();
  const auto shown = holdfast_on(url, {"show", name, "--verbose"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("quarantine for another"), std::string::npos) << shown.out;
  clock.set_ahead(past_ttl);
  guarded();  // for longer than alice could have counted on it

  jump(past_ttl);
  clock.set_ahead(41s);
  const auto next = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(next));
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(eventually([&] { return alice.count(name, Event::Kind::lost) == 1; }));
  EXPECT_GT(next->token(), lease->token());
}

TEST_F(RedisFailover, S08RenewalsThatReplicasLackDoNotCount) {
  RedisReplicas redis{never_by_themselves};
  auto& master = redis.master();
  ASSERT_TRUE(eventually([&, client = master.client()]() mutable {
    client.command({"SET", "ready", "yes"});
    return client.command({"WAIT", "2", "1000"}).integer == 2;
  }));
  const Watched alice(master.url() + "?wait_replicas=all");
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  for (const auto& server : redis.servers())
    if (server.get() != &master) server->stop();
  jump(past_renewal);
  const auto left_at_master = [&, bob = open(master.url()).value()] {
    return listed(bob, name).front().ttl_left.value();
  };
  EXPECT_TRUE(eventually([&] { return left_at_master() > lease->left() + 5s; }));
  jump(from_renewal_to_risk);
  EXPECT_TRUE(eventually([&] { return alice.count(name, Event::Kind::at_risk) == 1; }));
  jump(from_risk_to_end);
  EXPECT_EQ(alice.why_lost(name), "expired");  // though the master has renewed it
  EXPECT_EQ(alice.count(name, Event::Kind::at_risk), 1);
  EXPECT_FALSE(lease->valid());
  for (const auto& server : redis.servers())
    if (server.get() != &master) server->resume();
  EXPECT_TRUE(succeeded(take_at_once(open(master.url()).value(), name)));
}

}  // namespace
}  // namespace holdfast
