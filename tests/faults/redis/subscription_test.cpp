// N19 and N20 of docs/faults.md: the connection for messages fails while commands work, and
// releases come between a look at the lock and the subscription. B15: messages of others.

#include <atomic>
#include <future>

#include "stores/redis/keys.hpp"
#include "support/evil_server.hpp"
#include "support/own_clock.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisSubscription : public testing::Test {
 protected:
  // A ttl so long that nobody asks again for a lost message while this test lasts.
  static std::future<Result<Lease>> wait_for(const Store& store, const std::string& name,
                                             Millis ttl = held_long) {
    return std::async(std::launch::async, [=] { return store.lock(name, {.ttl = ttl}).acquire(); });
  }
  std::size_t channels() const {
    return server.client().command({"PUBSUB", "CHANNELS", "hf:*"}).items.size();
  }

  const std::string name = "the/name";
  RedisServer server;
  const Store bob = open(server.url()).value();
};

TEST_F(RedisSubscription, N19DiesAndIsOpenedAgain) {
  const auto alice = open(server.url()).value();
  auto held = bob.lock(name).acquire();
  auto waited = wait_for(alice, name);
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1 && channels() == 1; }));
    server.client().command({"CLIENT", "KILL", "TYPE", "pubsub"});
  }
  EXPECT_TRUE(eventually([&] { return channels() == 1; }));
  EXPECT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(succeeded(waited.get()));
}

// Released while nobody listens: the line skips a waiter that cannot be notified, and a waiter that
// subscribes again looks again.
TEST_F(RedisSubscription, N19ReleasedWhileItIsDead) {
  const auto alice = open(server.url()).value();
  for (int round = 0; round < 20; ++round) {
    auto held = bob.lock(name).acquire();
    auto waited = wait_for(alice, name);
    ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1; }));
    server.client().command({"CLIENT", "KILL", "TYPE", "pubsub"});
    EXPECT_TRUE(succeeded(held->release()));
    EXPECT_TRUE(succeeded(waited.get()));
  }
}

TEST_F(RedisSubscription, N19NeverComesBack) {
  for (const bool hangs_up : {true, false}) {
    SCOPED_TRACE(hangs_up ? "closed" : "silent");
    const EvilServer deaf(
        [=](const RedisCommand& command) -> std::optional<Say> {
          if (command.front() == "SUBSCRIBE") return Say{"", 1, hangs_up};
          return std::nullopt;
        },
        &server);
    const auto alice = open(deaf.url()).value();
    auto held = bob.lock(name).acquire();
    auto waited = wait_for(alice, name, 6s);  // The shorter, the sooner it counts as silent.
    ASSERT_TRUE(eventually([&] { return deaf.commands("SUBSCRIBE") > 0; }));
    EXPECT_TRUE(succeeded(held->release()));
    EXPECT_TRUE(succeeded(waited.get()));  // By polling.
  }
}

// The connection stays open, but nothing comes on it any more, as behind a firewall that forgot it.
TEST_F(RedisSubscription, N19FallsSilent) {
  std::atomic<int> pings = 0;
  const EvilServer evil(
      [&](const RedisCommand& command) -> std::optional<Say> {
        if (command.front() == "PING" && pings++ > 0) return Say{""};
        return std::nullopt;
      },
      &server);
  const auto alice = open(evil.url()).value();
  auto held = bob.lock(name, {.ttl = held_long}).acquire();
  ASSERT_TRUE(succeeded(held));
  auto waited = wait_for(alice, name, 30s);
  ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1; }));
  const auto subscriptions = evil.commands("SUBSCRIBE");
  jump(past_asking);
  EXPECT_TRUE(eventually([&] { return evil.commands("SUBSCRIBE") > subscriptions; }));
  EXPECT_TRUE(succeeded(held->release()));
  jump(past_asking);  // The evil server passes no messages on.
  EXPECT_TRUE(succeeded(waited.get()));
}

// Between the ask that found it busy and the subscription, and between that and the next ask.
TEST_F(RedisSubscription, N20ReleasedBetweenCheckAndSubscribe) {
  for (const std::string moment : {"SUBSCRIBE", "PING"}) {
    SCOPED_TRACE(moment);
    auto held = bob.lock(name).acquire();
    std::atomic<int> releases = 0;
    const EvilServer evil(
        [&](const RedisCommand& command) -> std::optional<Say> {
          if (command.front() == moment && releases.fetch_add(1) == 0) {
            EXPECT_TRUE(succeeded(held->release()));
          }
          return std::nullopt;
        },
        &server);
    const auto alice = open(evil.url()).value();
    EXPECT_TRUE(succeeded(wait_for(alice, name).get()));
    EXPECT_GT(releases, 0);
  }
}

// Anybody may publish to our channel. A message without the claim, which nobody else knows, grants
// nothing.
TEST_F(RedisSubscription, B15MessagesOfOthers) {
  const auto alice = open(server.url()).value();
  auto held = bob.lock(name).acquire();
  auto waited = wait_for(alice, name);
  ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1; }));
  auto redis = server.client();
  const auto channel = redis.command({"PUBSUB", "CHANNELS", "hf:*"})[0].text;
  const std::string claim(16, 'c'), key = stores::redis::lock_key(name);
  const auto grant = [&](const char* numbers, const std::string& of) {
    std::string payload = "g" + claim;
    return payload.append(numbers).append(of);
  };
  for (const auto& payload :
       {std::string(), std::string("g"), std::string("x"), "?" + claim, grant("1 30000 1 ", key),
        grant("-1 30000 1 ", key), grant("1 99999999999999999999 1 ", key),
        grant("1 1 1 ", "hf:{%zz}"), grant("9007199254740993 30000 9223372036854775807 ", key),
        std::string("x").append(claim).append(key), std::string(1 << 20, 'g'),
        std::string(64, '\0')})
    EXPECT_EQ(redis.command({"PUBLISH", channel, payload}).integer, 1);
  EXPECT_EQ(waited.wait_for(100ms), std::future_status::timeout);
  EXPECT_TRUE(held->valid());
  EXPECT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(succeeded(waited.get()));
}

}  // namespace
}  // namespace holdfast
