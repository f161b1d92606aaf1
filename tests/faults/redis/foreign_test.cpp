// Keys that are not ours (S13, S14): an ask is busy and says why, and they stay as they were.
#include <thread>
#include <vector>

#include "faults/redis/on_redis.hpp"
#include "stores/redis/keys.hpp"
#include "support/skewed_clock.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisHasAnothersKey : public OnRedis {
 protected:
  void expect_left_alone(const Store& alice, const RedisCommand& maker) const {
    SCOPED_TRACE(maker.front());
    auto mine = server.client();
    const std::string wanted = "the/name/" + maker.front();
    const std::string made = stores::redis::lock_key(wanted);
    auto making = maker;
    making.insert(making.begin() + 1, made);
    mine.command(making);
    const std::string before = mine.command({"DUMP", made}).text;
    for (const auto& refused :
         {alice.lock(wanted).try_acquire(), alice.lock(wanted).try_acquire_for(shortly),
          alice.rw_lock(wanted).read().try_acquire(),
          alice.semaphore(wanted, 3).permits(1).try_acquire()}) {
      ASSERT_TRUE(failed(refused, Errc::busy));
      EXPECT_EQ(refused.error().reason(), "foreign");
    }
    const auto outcome =
        holdfast_on(server.url(), {"run", wanted, "--wait", "400ms", "--", "true"});
    EXPECT_EQ(outcome.code, 75) << outcome.err;
    EXPECT_NE(outcome.err.find("something else than a lock of ours"), std::string::npos)
        << outcome.err;
    EXPECT_EQ(mine.command({"DUMP", made}).text, before);
    EXPECT_EQ(mine.command({"PTTL", made}).integer, -1);
    mine.command({"DEL", made});
    EXPECT_TRUE(succeeded(alice.lock(wanted).try_acquire()));
  }

  SkewedClock clock;
  RedisServer server{{.environment = clock.environment()}};
  RedisClient redis = server.client();
};

TEST_F(RedisHasAnothersKey, S13OfAnyType) {
  const RedisCommand makers[] = {
      {"HSET", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1"},  // as Redisson writes it
      {"XADD", "*", "field", "value"},
      {"SET", std::string(1 << 20, 'x')},
      {"RPUSH", "one"},
      {"SADD", "one"},
      {"ZADD", "1", "one"},
  };
  const auto alice = open(server.url()).value();
  // All at once, because each of them waits in vain.
  std::vector<std::jthread> threads;
  for (const RedisCommand& maker : makers)
    threads.emplace_back([&] { expect_left_alone(alice, maker); });
}

TEST_F(RedisHasAnothersKey, S13InPlaceOfOurs) {
  const Watched alice(server.url());
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  redis.command({"SET", key, "another's"});
  come_due(alice.store);
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
       {alice.lock(name).try_acquire(), alice.lock(name).try_acquire_for(shortly)}) {
    EXPECT_TRUE(failed(refused, Errc::busy));
    EXPECT_EQ(refused.error().reason(), "no_expiry");
    EXPECT_TRUE(says(refused, "no expiry"));
  }
  const auto outcome = holdfast_on(url, {"run", name, "--wait", "400ms", "--", "true"});
  EXPECT_EQ(outcome.code, 75) << outcome.err;
  EXPECT_NE(outcome.err.find("no expiry"), std::string::npos) << outcome.err;
  EXPECT_EQ(redis.command({"GET", name}).text, "redis-py's, with timeout=None");
  EXPECT_EQ(redis.command({"PTTL", name}).integer, -1);
  redis.command({"DEL", name});
  EXPECT_TRUE(succeeded(alice.lock(name).try_acquire()));
}

TEST_F(RedisHasAnothersKey, S14WithAnExpiryIsHeldBySomebody) {
  const std::string url = server.url() + "?dialect=string";
  redis.command({"SET", name, "redis-py's", "PX", "30000"});
  const auto alice = open(url).value();
  const auto refused = alice.lock(name).try_acquire();
  EXPECT_TRUE(failed(refused, Errc::busy));
  EXPECT_EQ(refused.error().reason(), "busy");
  const auto asked = alice.stats().asks;
  std::jthread waiter([&] { EXPECT_TRUE(succeeded(alice.lock(name).acquire())); });
  ASSERT_TRUE(eventually([&] { return alice.stats().asks > asked; }));
  clock.set_ahead(past_ttl);  // It finds out, because it asks again and again.
}

}  // namespace
}  // namespace holdfast
