// What locks cost the server, counted in the commands that it gets, and what they leave behind.
#include <memory>
#include <thread>

#include "faults/redis/on_redis.hpp"
#include "faults/redis/traffic.hpp"
#include "support/peer.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisTraffic : public OnRedis {
 protected:
  // How many are in line for a lock with a single holder.
  long in_line() {
    return std::ranges::count_if(redis.command({"HKEYS", key}).items,
                                 [](const RedisReply& field) { return field.text[0] == 'e'; });
  }

  RedisServer server;
  RedisClient redis = server.client();
  const std::string forever = "ttl=" + std::to_string(held_long.count());
};

TEST_F(RedisTraffic, AFreeLockIsOneCommandToTakeAndOneToGive) {
  const auto alice = open(server.url()).value();
  ASSERT_TRUE(succeeded(alice.lock("to/connect").acquire()));
  Traffic traffic(server, redis);
  for (int round = 0; round < 3; ++round) {
    auto lease = alice.lock(name).acquire();
    EXPECT_EQ(traffic.commands().size(), 1U);
    ASSERT_TRUE(succeeded(lease->release()));
    EXPECT_EQ(traffic.commands().size(), 1U);
  }
}

TEST_F(RedisTraffic, WhoHoldsANameIsOneCommandWhateverElseIsThere) {
  const auto alice = open(server.url()).value();
  const auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  redis.command({"EVAL",
                 "for i = 1, 20000 do redis.call('SET', 'other:' .. i, '') "
                 "redis.call('HSET', 'hf:{other' .. i .. '}', 's', 'h\\1\\0') end",
                 "0"});
  Traffic traffic(server, redis);
  EXPECT_EQ(alice.holders(name).value().size(), 1U);
  EXPECT_EQ(traffic.commands().size(), 1U);
  EXPECT_TRUE(alice.holders("other1").value().empty());
  EXPECT_EQ(traffic.commands().size(), 1U);
}

TEST_F(RedisTraffic, AHandoverIsOneCommandAndAPlaceInLineOne) {
  constexpr std::size_t count = 4;
  std::vector<std::unique_ptr<Peer>> peers;
  Peer first(server.url());
  // Each has waited before, so that it listens already.
  for (std::size_t each = 0; each < count; ++each) {
    first.acquire(name, forever);
    peers.push_back(std::make_unique<Peer>(server.url()));
    peers.back()->start_acquire(name, forever);
    ASSERT_TRUE(eventually([&] { return in_line() == 1; }));
    ASSERT_EQ(first.ask("release " + name), "released");
    peers.back()->acquired();
    ASSERT_EQ(peers.back()->ask("release " + name), "released");
  }
  Traffic traffic(server, redis);
  for (int round = 0; round < 3; ++round) {
    first.acquire(name, forever);
    EXPECT_EQ(traffic.commands().size(), 1U);
    for (std::size_t each = 0; each < count; ++each) {
      peers[each]->start_acquire(name, forever);
      ASSERT_TRUE(eventually([&] { return in_line() == static_cast<long>(each) + 1; }));
    }
    EXPECT_EQ(traffic.commands().size(), count);  // each one's ask
    ASSERT_EQ(first.ask("release " + name), "released");
    for (const auto& peer : peers) {
      peer->acquired();
      EXPECT_EQ(traffic.commands().size(), 1U);  // the release of the one before
      ASSERT_EQ(peer->ask("release " + name), "released");
    }
    EXPECT_EQ(traffic.commands().size(), 1U);
  }
}

TEST_F(RedisTraffic, TwoHundredWaitersCostNextToNothing) {
  constexpr int processes = 20, each = 10;
  Peer holder(server.url());
  holder.acquire(name);
  std::vector<std::unique_ptr<Peer>> peers;
  for (int process = 0; process < processes; ++process) {
    peers.push_back(std::make_unique<Peer>(server.url()));
    ASSERT_EQ(peers.back()->ask("crowd " + name + " " + std::to_string(each)), "ok");
  }
  ASSERT_TRUE(eventually([&] { return in_line() == processes; }));
  Traffic traffic(server, redis);
  // Twenty seconds, in which each process asks once, in case a message was lost.
  const auto jump = "jump " + std::to_string(past_asking.count());
  for (const auto& peer : peers) ASSERT_EQ(peer->ask(jump), "ok");
  std::size_t commands = 0;
  ASSERT_TRUE(eventually([&] { return (commands += traffic.commands().size()) >= processes; }));
  EXPECT_LT(commands, 50U);
  ASSERT_EQ(holder.ask("release " + name), "released");
  ASSERT_TRUE(eventually([&] {
    int served = 0;
    for (const auto& peer : peers) served += std::stoi(peer->ask("served"));
    return served == processes * each;
  }));
  EXPECT_LE(traffic.commands().size(), 2U * processes * each);
}

TEST_F(RedisTraffic, AReleasedLockLeavesOneSmallKeyForAnHour) {
  const auto alice = open(server.url()).value();
  {
    const auto lease = alice.lock(name, {.label = std::string(500, 'x')}).acquire();
    ASSERT_TRUE(succeeded(lease));
  }
  ASSERT_TRUE(succeeded(alice.close(patient)));
  EXPECT_EQ(redis.command({"DBSIZE"}).integer, 1);
  EXPECT_LT(redis.command({"MEMORY", "USAGE", key}).integer, 250);
  const auto left = Millis(redis.command({"PTTL", key}).integer);
  EXPECT_GT(left, 30min);
  EXPECT_LE(left, 75min);
}

}  // namespace
}  // namespace holdfast
