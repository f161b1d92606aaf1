// Keys that are not ours (S13, S14): busy, told so, and left exactly as they were.
#include "faults/redis/on_redis.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisHasAnothersKey : public OnRedis {
 protected:
  std::string dump(const std::string& of) { return redis.command({"DUMP", of}).text; }

  RedisServer server;
  RedisClient redis = server.client();
};

TEST_F(RedisHasAnothersKey, S13OfAnyType) {
  const std::string megabyte(1 << 20, 'x');
  const RedisCommand makers[] = {
      {"HSET", key, "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1"},  // as Redisson has it
      {"XADD", key, "*", "field", "value"},
      {"SET", key, megabyte},
      {"RPUSH", key, "one"},
      {"SADD", key, "one"},
      {"ZADD", key, "1", "one"},
  };
  const auto alice = open(server.url()).value();
  for (const RedisCommand& maker : makers) {
    SCOPED_TRACE(maker.front());
    redis.command(maker);
    const std::string before = dump(key);
    for (const auto& refused :
         {alice.lock(name).try_acquire(), alice.lock(name).try_acquire_for(200ms),
          alice.rw_lock(name).read().try_acquire(),
          alice.semaphore(name, 3).permits(1).try_acquire()}) {
      EXPECT_TRUE(failed(refused, Errc::busy));
      EXPECT_EQ(refused.error().reason(), "foreign");
    }
    const auto outcome = holdfast_on(server.url(), {"run", name, "--wait", "200ms", "--", "true"});
    EXPECT_EQ(outcome.code, 75) << outcome.err;
    EXPECT_NE(outcome.err.find("something else than a lock of ours"), std::string::npos)
        << outcome.err;
    EXPECT_EQ(dump(key), before);
    EXPECT_EQ(redis.command({"PTTL", key}).integer, -1);
    redis.command({"DEL", key});
  }
  EXPECT_TRUE(succeeded(alice.lock(name).try_acquire()));
}

TEST_F(RedisHasAnothersKey, S13InPlaceOfOurs) {
  const Watched alice(server.url());
  auto lease = alice.take(name, {.ttl = 3s});
  ASSERT_TRUE(succeeded(lease));
  redis.command({"SET", key, "another's"});
  EXPECT_EQ(alice.why_lost(name), "gone");
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  EXPECT_TRUE(eventually([&] { return alice.store.stats().debts == 0; }));
  EXPECT_EQ(redis.command({"GET", key}).text, "another's");
}

TEST_F(RedisHasAnothersKey, S14WithoutAnExpiry) {
  const std::string url = server.url() + "?dialect=string";
  redis.command({"SET", name, "redis-py's, with timeout=None"});
  const auto alice = open(url).value();
  for (const auto& refused :
       {alice.lock(name).try_acquire(), alice.lock(name).try_acquire_for(300ms)}) {
    EXPECT_TRUE(failed(refused, Errc::busy));
    EXPECT_EQ(refused.error().reason(), "no_expiry");
    EXPECT_TRUE(says(refused, "no expiry"));
  }
  const auto outcome = holdfast_on(url, {"run", name, "--wait", "300ms", "--", "true"});
  EXPECT_EQ(outcome.code, 75) << outcome.err;
  EXPECT_NE(outcome.err.find("no expiry"), std::string::npos) << outcome.err;
  EXPECT_EQ(redis.command({"GET", name}).text, "redis-py's, with timeout=None");
  EXPECT_EQ(redis.command({"PTTL", name}).integer, -1);
  redis.command({"DEL", name});
  EXPECT_TRUE(succeeded(alice.lock(name).try_acquire()));
}

TEST_F(RedisHasAnothersKey, S14WithAnExpiryIsHeldBySomebody) {
  const std::string url = server.url() + "?dialect=string";
  redis.command({"SET", name, "redis-py's", "PX", "1000"});
  const auto alice = open(url).value();
  const auto refused = alice.lock(name).try_acquire();
  EXPECT_TRUE(failed(refused, Errc::busy));
  EXPECT_EQ(refused.error().reason(), "busy");
  EXPECT_TRUE(succeeded(alice.lock(name).acquire()));
}

}  // namespace
}  // namespace holdfast
