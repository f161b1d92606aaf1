// Failovers (S06, S08). Elsewhere: S07 and S09 in redis_sentinel_test, S08 of an acquire in
// redis_replicas_test.
#include "faults/redis/on_redis.hpp"
#include "support/redis/replicas.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisFailover : public OnRedis {};

// The replicas lose their master before the lease is given, so whichever takes over lacks it.
TEST_F(RedisFailover, S06ToAReplicaThatLacksTheLockIsGuarded) {
  RedisReplicas redis;
  const std::string url = redis.url() + "?guard=on&guard_ttl=10s";
  ASSERT_TRUE(succeeded(open(url)->init()));
  auto& old = redis.master();
  for (const auto& server : redis.servers())
    if (server.get() != &old) server->client().command({"REPLICAOF", "127.0.0.1", "1"});
  const Watched alice(url);
  auto lease = alice.take(name, {.ttl = 9s});
  ASSERT_TRUE(succeeded(lease));
  old.kill();
  auto& master = redis.master_instead_of(old);
  ASSERT_EQ(master.client().command({"EXISTS", key}).integer, 0);

  const auto bob = open(url).value();
  const auto refused = bob.lock(name, {.ttl = 1s}).try_acquire_for(500ms);
  ASSERT_TRUE(failed(refused, Errc::unavailable));
  EXPECT_EQ(refused.error().reason(), "quarantine");
  const auto shown = holdfast_on(url, {"show", name, "--verbose"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("quarantine for another"), std::string::npos) << shown.out;

  const auto next = bob.lock(name, {.ttl = 1s}).acquire();
  ASSERT_TRUE(succeeded(next));
  EXPECT_FALSE(lease->valid());
  EXPECT_EQ(alice.count(name, Event::Kind::lost), 1);
  EXPECT_GT(next->token(), lease->token());
}

TEST_F(RedisFailover, S08RenewalsThatReplicasLackDoNotCount) {
  RedisReplicas redis{Millis(60'000)};
  auto& master = redis.master();
  ASSERT_TRUE(eventually([&, client = master.client()]() mutable {
    client.command({"SET", "ready", "yes"});
    return client.command({"WAIT", "2", "1000"}).integer == 2;
  }));
  const Watched alice(master.url() + "?wait_replicas=all");
  auto lease = alice.take(name, {.ttl = 3s});
  ASSERT_TRUE(succeeded(lease));
  for (const auto& server : redis.servers())
    if (server.get() != &master) server->stop();
  EXPECT_EQ(alice.why_lost(name), "expired");  // though the master has renewed it every time
  EXPECT_EQ(alice.count(name, Event::Kind::at_risk), 1);
  EXPECT_FALSE(lease->valid());
  for (const auto& server : redis.servers())
    if (server.get() != &master) server->resume();
  EXPECT_TRUE(succeeded(take_at_once(open(master.url()).value(), name)));
}

}  // namespace
}  // namespace holdfast
