// Servers that say no (S10, S11, S16, S18): they load, cannot save, have no memory, lack replicas,
// are full or busy. Each is definite, named in the error, and over when the server recovers.
#include <filesystem>
#include <functional>
#include <thread>

#include "faults/redis/on_redis.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisRefuses : public OnRedis {};

TEST_F(RedisRefuses, S10WhileItLoads) {
  // Loads a key per millisecond, and serves clients in between.
  RedisServer server({.config = {"enable-debug-command local", "key-load-delay 1000",
                                 "loading-process-events-interval-bytes 1024"}});
  auto redis = server.client();
  redis.command({"DEBUG", "POPULATE", "1500"});  // longer than a client backs off
  redis.command({"SAVE"});
  const auto alice = open(server.url()).value();
  ASSERT_TRUE(succeeded(alice.lock("to/connect").acquire()));
  server.kill();
  std::jthread asking([&] {
    std::string text;
    EXPECT_TRUE(eventually([&] {
      const auto lease = alice.lock(name).try_acquire();
      if (lease || lease.error().reason() != "loading") return false;
      text = lease.error().what();
      return lease.error().errc() == Errc::unavailable;
    }));
    EXPECT_NE(text.find("LOADING"), std::string::npos) << text;
    EXPECT_TRUE(succeeded(alice.lock(name).acquire()));  // asks until it is there
  });
  server.start();  // returns when all is loaded
}

// The server refuses writes from begin() to end().
struct Refusal {
  std::string reason;
  std::string word;  // the server's own
  bool releases;     // a held lock can be released meanwhile
  std::vector<std::string> config;
  std::function<void(RedisClient&)> begin;
  std::function<void(RedisClient&)> end;
};

void set(RedisClient& redis, const char* field, const char* value) {
  redis.command({"CONFIG", "SET", field, value});
}
std::filesystem::path saved_file(RedisClient& redis) {
  return std::filesystem::path(redis.command({"CONFIG", "GET", "dir"})[1].text) / "dump.rdb";
}
void save(RedisClient& redis, const char* status) {
  redis.command({"BGSAVE"});
  EXPECT_TRUE(eventually([&] {
    return redis.info("persistence", "rdb_bgsave_in_progress") == "0" &&
           redis.info("persistence", "rdb_last_bgsave_status") == status;
  }));
}

const std::vector<Refusal>& refusals() {
  static const std::vector<Refusal> all = {
      {.reason = "misconf",
       .word = "MISCONF",
       .releases = false,
       .config = {"save 3600 1000000"},
       .begin =
           [](RedisClient& redis) {
             std::filesystem::create_directory(saved_file(redis));  // which a file cannot replace
             save(redis, "err");
           },
       .end =
           [](RedisClient& redis) {
             std::filesystem::remove(saved_file(redis));
             save(redis, "ok");
           }},
      {.reason = "out_of_memory",
       .word = "OOM",
       .releases = true,
       .config = {},
       .begin = [](RedisClient& redis) { set(redis, "maxmemory", "1"); },
       .end = [](RedisClient& redis) { set(redis, "maxmemory", "0"); }},
      {.reason = "no_replicas",
       .word = "NOREPLICAS",
       .releases = false,
       .config = {},
       .begin = [](RedisClient& redis) { set(redis, "min-replicas-to-write", "1"); },
       .end = [](RedisClient& redis) { set(redis, "min-replicas-to-write", "0"); }},
  };
  return all;
}

class RedisTakesNoWrites : public OnRedis, public testing::WithParamInterface<Refusal> {
 protected:
  RedisServer server{{.config = GetParam().config}};
  RedisClient redis = server.client();
  const Watched alice{server.url()};
};

TEST_P(RedisTakesNoWrites, S11AndTheErrorNamesItsReason) {
  ASSERT_TRUE(succeeded(alice.take("to/connect", {})));
  GetParam().begin(redis);
  const auto refused = alice.store.lock(name).try_acquire();
  ASSERT_TRUE(failed(refused, Errc::unavailable));
  EXPECT_EQ(refused.error().reason(), GetParam().reason);
  EXPECT_TRUE(says(refused, GetParam().word));
  const auto outcome = holdfast_on(server.url(), {"run", name, "--wait", "300ms", "--", "true"});
  EXPECT_EQ(outcome.code, 69) << outcome.err;
  EXPECT_NE(outcome.err.find(GetParam().word), std::string::npos) << outcome.err;
  EXPECT_EQ(redis.command({"EXISTS", key}).integer, 0);
  GetParam().end(redis);
  EXPECT_TRUE(succeeded(alice.store.lock(name).acquire()));
}

TEST_P(RedisTakesNoWrites, S11AndAHolderIsToldInTime) {
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  GetParam().begin(redis);
  jump(past_renewal);
  ASSERT_TRUE(eventually([&] { return alice.count(name, Event::Kind::at_risk) == 1; }));
  EXPECT_TRUE(lease->valid());
  jump(from_renewal_to_risk + from_risk_to_end);
  EXPECT_EQ(alice.why_lost(name), "expired");
  EXPECT_EQ(alice.count(name, Event::Kind::at_risk), 1);
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  GetParam().end(redis);
  EXPECT_TRUE(succeeded(open(server.url())->lock(name).acquire()));
  EXPECT_FALSE(lease->valid());  // for good
}

TEST_P(RedisTakesNoWrites, S11AndAReleaseWorksOrSaysThatItDidNot) {
  auto lease = alice.take(name, long_lived);
  ASSERT_TRUE(succeeded(lease));
  GetParam().begin(redis);
  const auto released = lease->release();
  EXPECT_EQ(released.has_value(), GetParam().releases);
  if (!released) {
    EXPECT_TRUE(failed(released, Errc::unknown));
    EXPECT_EQ(alice.store.stats().debts, 1U);
  }
  GetParam().end(redis);
  EXPECT_TRUE(succeeded(take_at_once(open(server.url()).value(), name)));
  EXPECT_TRUE(eventually([&] { return alice.store.stats().debts == 0; }));
}

INSTANTIATE_TEST_SUITE_P(Redis, RedisTakesNoWrites, testing::ValuesIn(refusals()),
                         [](const auto& row) { return row.param.reason; });

TEST_F(RedisRefuses, S16ClientsBeyondItsNumber) {
  RedisServer server;
  auto redis = server.client();
  const Watched alice(server.url());
  const auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  redis.command({"CONFIG", "SET", "maxclients", "2"});  // alice and this client
  const auto outcome = holdfast_on(server.url(), {"run", "another", "--wait", "1s", "--", "true"});
  EXPECT_EQ(outcome.code, 69) << outcome.err;
  EXPECT_NE(outcome.err.find("maxclients"), std::string::npos) << outcome.err;
  EXPECT_LT(std::stol(redis.info("stats", "rejected_connections")), 30);  // it backs off
  EXPECT_TRUE(renews_when_due(alice.store));
  EXPECT_TRUE(lease->valid());
  const auto bob = open(server.url()).value();
  std::jthread admitting([&] {
    EXPECT_TRUE(eventually([&, before = redis.info("stats", "rejected_connections")] {
      return redis.info("stats", "rejected_connections") != before;
    }));
    redis.command({"CONFIG", "SET", "maxclients", "100"});
  });
  EXPECT_TRUE(succeeded(bob.lock("another").acquire()));
}

TEST_F(RedisRefuses, S18WhileAScriptRunsTooLong) {
  RedisServer server({.config = {"lua-time-limit 50"}});
  const Watched alice(server.url());
  ASSERT_TRUE(succeeded(alice.take("to/connect", {})));
  std::jthread endless([client = server.client()]() mutable {
    EXPECT_NE(client.attempt({"EVAL", "while true do end", "0"}).text.find("killed"),
              std::string::npos);
  });
  auto redis = server.client();
  const auto busy = [&] { return redis.attempt({"PING"}).text.starts_with("BUSY"); };
  ASSERT_TRUE(eventually(busy));
  const auto outcome = holdfast_on(server.url(), {"run", name, "--wait", "4s", "--", "true"});
  EXPECT_EQ(outcome.code, 69) << outcome.err;
  EXPECT_NE(outcome.err.find("SCRIPT KILL"), std::string::npos) << outcome.err;
  const auto given_up = alice.store.lock(name).try_acquire_for(4s);
  EXPECT_TRUE(failed(given_up, Errc::unavailable));
  EXPECT_TRUE(says(given_up, "SCRIPT KILL"));

  std::atomic<bool> got{false};
  std::jthread waiter([&] {
    EXPECT_TRUE(succeeded(alice.store.lock(name).acquire()));
    got = true;
  });
  EXPECT_TRUE(busy());
  EXPECT_FALSE(got);
  redis.command({"SCRIPT", "KILL"});
  waiter.join();
  EXPECT_TRUE(got);
}

}  // namespace
}  // namespace holdfast
