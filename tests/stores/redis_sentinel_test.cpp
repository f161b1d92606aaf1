// Goal: a lock on a master that sentinels watch stays usable when the master changes, and no
// client is ever answered by a replica.
// Method: a real master, two replicas, three sentinels; failovers by order and by the master's
// death.
#include <gtest/gtest.h>

#include <thread>

#include "holdfast/holdfast.hpp"
#include "stores/redis_client.hpp"
#include "support/evil_server.hpp"
#include "support/own_clock.hpp"
#include "support/redis/replicas.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace testing_support;
using support::EvilServer;
using support::RedisCommand;
using support::RedisReplicas;
using support::RedisServer;
using support::Say;

class RedisSentinel : public testing::Test {
 protected:
  // So long that a busy machine causes no failover.
  explicit RedisSentinel(Millis down_after = Millis(60'000)) : redis(down_after) {}
  // What the master has confirmed, its replicas have a little later.
  bool replicated(const std::string& key) {
    return support::eventually([&] {
      return std::ranges::all_of(redis.servers(), [&](const auto& server) {
        return !server->running() || server->client().command({"EXISTS", key}).integer == 1;
      });
    });
  }

  RedisReplicas redis;
};

TEST_F(RedisSentinel, GrantsRenewsReleasesAndHandsOver) {
  RedisStoreClient alice(redis.url()), bob(redis.url());
  const ClaimId hers = fresh_claim(), his = fresh_claim();
  const Answer granted = alice.ask("n", hers);
  ASSERT_EQ(granted.said, Said::yes) << granted.problem.text;
  EXPECT_EQ(alice.renew("n", hers).said, Said::yes);
  ASSERT_EQ(bob.ask("n", his, true).said, Said::queued);
  EXPECT_EQ(alice.release("n", hers).said, Said::yes);
  ASSERT_TRUE(bob.stay_until([&] { return !bob.hints.grants().empty(); }));
  EXPECT_EQ(bob.hints.grants()[0].claim, his);
  EXPECT_GT(bob.hints.grants()[0].answer.number, granted.number);
}

class RedisSentinelFailover : public RedisSentinel {
 protected:
  RedisSentinelFailover() : RedisSentinel(Millis(1'000)) {}
};

TEST_F(RedisSentinelFailover, AHolderFindsTheNewMaster) {
  RedisStoreClient alice(redis.url());
  const ClaimId hers = fresh_claim();
  ASSERT_EQ(alice.ask("n", hers).said, Said::yes);
  ASSERT_TRUE(replicated("hf:{n}"));
  redis.failover();
  const Answer again = alice.ask_until_decided("n", hers);
  EXPECT_EQ(again.said, Said::yes) << again.problem.text;
  EXPECT_EQ(alice.renew("n", hers).said, Said::yes);
  EXPECT_EQ(alice.release("n", hers).said, Said::yes);
}

TEST_F(RedisSentinelFailover, TheDeathOfTheMasterCostsNoLease) {
  const auto store = open(redis.url()).value();
  auto lease = store.lock("n").acquire();
  ASSERT_TRUE(support::succeeded(lease));
  ASSERT_TRUE(replicated("hf:{n}"));
  auto& old = redis.master();
  old.kill();
  redis.master_instead_of(old);
  const Millis before = lease->left();
  support::jump(11s);  // The renewal is due after a third of its ttl.
  EXPECT_TRUE(support::eventually([&] { return lease->left() > before - 11s; }));
  EXPECT_TRUE(lease->valid());
  EXPECT_TRUE(support::failed(store.lock("n").try_acquire(), Errc::busy));
  EXPECT_TRUE(support::succeeded(lease->release()));
  EXPECT_TRUE(support::succeeded(store.lock("n").try_acquire()));
}

TEST_F(RedisSentinelFailover, AWaiterIsToldByTheNewMaster) {
  RedisStoreClient alice(redis.url()), bob(redis.url());
  const ClaimId hers = fresh_claim(), his = fresh_claim();
  ASSERT_EQ(alice.ask("n", hers).said, Said::yes);
  ASSERT_EQ(bob.ask("n", his, true).said, Said::queued);
  ASSERT_TRUE(replicated("hf:{n}"));
  redis.failover();
  // It moves without a call of its own: then it is told to look, and listens there.
  ASSERT_TRUE(bob.stay_until([&] { return !bob.hints.looks().empty(); }, 30s));
  ASSERT_EQ(alice.ask_until_decided("n", hers).said, Said::yes);
  EXPECT_EQ(alice.release("n", hers).said, Said::yes);
  ASSERT_TRUE(bob.stay_until([&] { return !bob.hints.grants().empty(); }));
  EXPECT_EQ(bob.hints.grants()[0].claim, his);
}

// Demoted behind the sentinels' back: its connection stays open and answers READONLY, and they
// still name it.
TEST(CalmSentinels, ADemotedMasterGrantsNothing) {
  RedisReplicas redis(Millis(60'000));
  RedisStoreClient alice(redis.url());
  ASSERT_EQ(alice.ask("n", fresh_claim()).said, Said::yes);
  auto& old = redis.master();
  auto& next = redis.replica();
  const std::string port = std::to_string(next.port());
  next.client().command({"REPLICAOF", "NO", "ONE"});
  old.client().command({"REPLICAOF", "127.0.0.1", port});
  const Answer refused = alice.ask_until(
      "m", 500ms, [](const Answer& answer) { return refused_for(answer, "names a replica"); });
  EXPECT_EQ(refused.said, Said::no);
  EXPECT_EQ(refused.problem.errc, Errc::unavailable);
  EXPECT_NE(refused.problem.text.find("names a replica"), std::string::npos)
      << refused.problem.text;

  for (const auto& sentinel : redis.sentinels()) {
    sentinel->client().command({"SENTINEL", "REMOVE", RedisReplicas::name});
    sentinel->client().command(
        {"SENTINEL", "MONITOR", RedisReplicas::name, "127.0.0.1", port, "2"});
  }
  const Answer granted = alice.ask("m", fresh_claim());
  EXPECT_EQ(granted.said, Said::yes) << granted.problem.text;
  EXPECT_EQ(next.client().command({"EXISTS", "hf:{m}"}).integer, 1);
}

TEST_F(RedisSentinel, OneOfThemIsEnough) {
  redis.sentinels()[0]->kill();
  redis.sentinels()[1]->stop();
  RedisStoreClient alice(redis.url());
  const Answer answer = alice.ask("n", fresh_claim());
  EXPECT_EQ(answer.said, Said::yes) << answer.problem.text;
  redis.sentinels()[1]->resume();
}

TEST_F(RedisSentinel, WithoutAnyItSaysWhoWasAskedAndWhatTheySaid) {
  const std::string url = redis.url();
  for (const auto& sentinel : redis.sentinels()) sentinel->kill();
  RedisStoreClient alice(url);
  const Answer answer = alice.ask_until("n", 500ms, [&](const Answer& last) {
    return refused_for(last, "no_master") &&
           std::ranges::all_of(redis.sentinels(), [&](const auto& sentinel) {
             return refused_for(last, sentinel->address());
           });
  });
  EXPECT_EQ(answer.said, Said::no);
  EXPECT_EQ(answer.problem.errc, Errc::unavailable);
  EXPECT_EQ(answer.problem.reason, "no_master");
  for (const auto& sentinel : redis.sentinels())
    EXPECT_NE(answer.problem.text.find(sentinel->address()), std::string::npos)
        << answer.problem.text;
}

TEST_F(RedisSentinel, ANameThatNoneKnowsIsRefusedAtOnce) {
  std::string url = redis.url();
  url.replace(url.rfind('/') + 1, std::string::npos, "nobody");
  RedisStoreClient alice(url);
  const Answer answer = alice.ask("n", fresh_claim());
  EXPECT_EQ(answer.said, Said::no);
  EXPECT_EQ(answer.problem.errc, Errc::invalid);
  EXPECT_NE(answer.problem.text.find("nobody"), std::string::npos) << answer.problem.text;
}

// As many as a store may see in years, where masters get new addresses.
TEST(CalmSentinels, MayNameMoreMastersThanAreKept) {
  constexpr int named = 1'200;
  const RedisServer first, second;
  std::atomic<bool> moved = false;
  const EvilServer sentinel([&](const RedisCommand& command) -> std::optional<Say> {
    if (command.front() == "SENTINEL") {
      const auto port = std::to_string((moved ? second : first).port());
      return Say{"*2\r\n$9\r\n127.0.0.1\r\n$" + std::to_string(port.size()) + "\r\n" + port +
                 "\r\n"};
    }
    if (command.front() != "SUBSCRIBE" || moved.exchange(true)) return std::nullopt;
    const auto bulk = [](const std::string& word) {
      return "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    };
    std::string said = "*3\r\n" + bulk("subscribe") + bulk("+switch-master") + ":1\r\n";
    for (int i = 0; i < named; ++i) {
      said += "*3\r\n";
      const std::string text = "m 127.0.0.1 1 127.1." + std::to_string(i / 250) + "." +
                               std::to_string(1 + i % 250) + " 1";
      said += bulk("message");
      said += bulk("+switch-master");
      said += bulk(text);
    }
    return Say{said};
  });
  const auto store = open("redis+sentinel://" + sentinel.address() + "/m").value();
  ASSERT_TRUE(support::succeeded(store.lock("n").try_acquire_for(support::patient)));
  ASSERT_TRUE(support::eventually([&] { return moved.load(); }));
  EXPECT_TRUE(support::eventually([&] {
    (void)store.lock("n").try_acquire_for(support::shortly);
    return second.client().command({"EXISTS", "hf:{n}"}).integer == 1;
  }));
}

TEST(CalmSentinels, MayHaveAPasswordOfTheirOwn) {
  RedisServer master({.password = "open"});
  RedisServer sentinel({.password = "sesame", .program = "redis-sentinel"});
  auto admin = sentinel.client();
  admin.command({"SENTINEL", "MONITOR", "m", "127.0.0.1", std::to_string(master.port()), "1"});
  const std::string url = "redis+sentinel://:open@" + sentinel.address() + "/m";
  RedisStoreClient alice(url + "?sentinel_password=sesame"), bob(url);
  const Answer granted = alice.ask("n", fresh_claim());
  EXPECT_EQ(granted.said, Said::yes) << granted.problem.text;
  const Answer refused = bob.ask_until(
      "n", 500ms, [](const Answer& answer) { return refused_for(answer, "password"); });
  EXPECT_EQ(refused.said, Said::no);
  EXPECT_NE(refused.problem.text.find("password"), std::string::npos) << refused.problem.text;
}

// A sentinel that is behind names a replica.
TEST_F(RedisSentinel, NoReplicaIsTakenForTheMaster) {
  auto& replica = redis.replica();
  const std::string port = std::to_string(replica.port());
  EvilServer stale([&](const RedisCommand& command) -> std::optional<Say> {
    if (command.front() != "SENTINEL") return std::nullopt;
    return Say{"*2\r\n$9\r\n127.0.0.1\r\n$" + std::to_string(port.size()) + "\r\n" + port + "\r\n"};
  });
  const std::string alone = "redis+sentinel://" + stale.address() + "/" + RedisReplicas::name;
  RedisStoreClient alice(alone);
  const Answer answer = alice.ask_until("n", 500ms, [](const Answer& last) {
    return refused_for(last, "no_master") && refused_for(last, "replica");
  });
  EXPECT_EQ(answer.said, Said::no);
  EXPECT_EQ(answer.problem.reason, "no_master");
  EXPECT_NE(answer.problem.text.find("replica"), std::string::npos) << answer.problem.text;

  RedisStoreClient bob("redis+sentinel://" + stale.address() + "," +
                       redis.sentinels()[0]->address() + "/" + RedisReplicas::name);
  EXPECT_EQ(bob.ask("n", fresh_claim()).said, Said::yes);
}

// A master and a sentinel that speak TLS to each other and to us.
class RedisSentinelTls : public testing::Test {
 protected:
  explicit RedisSentinelTls(const std::string& master_name = "IP:127.0.0.1")
      : master(with_tls("redis-server", master_name)) {
    const auto port = std::to_string(master.tls_port());
    sentinel.client().command({"SENTINEL", "MONITOR", "m", "127.0.0.1", port, "1"});
  }
  static support::RedisOptions with_tls(const std::string& program, const std::string& name) {
    return {.tls = support::authority().issue(name),
            .config = {"tls-replication yes"},
            .program = program};
  }
  std::string url() const {
    return "redis+sentinel://127.0.0.1:" + std::to_string(sentinel.tls_port()) +
           "/m?tls=on&ca=" + support::authority().file();
  }

  RedisServer master;
  RedisServer sentinel{with_tls("redis-sentinel", "IP:127.0.0.1")};
};

TEST_F(RedisSentinelTls, TakesAndHandsOver) {
  RedisStoreClient alice(url()), bob(url());
  const ClaimId hers = fresh_claim(), his = fresh_claim();
  const Answer granted = alice.ask("n", hers);
  ASSERT_EQ(granted.said, Said::yes) << granted.problem.text;
  ASSERT_EQ(bob.ask("n", his, true).said, Said::queued);
  EXPECT_EQ(alice.release("n", hers).said, Said::yes);
  ASSERT_TRUE(bob.stay_until([&] { return !bob.hints.grants().empty(); }));
  EXPECT_EQ(bob.hints.grants()[0].claim, his);
  EXPECT_EQ(bob.release("n", his).said, Said::yes);
}

class RedisSentinelTlsMisnamed : public RedisSentinelTls {
 protected:
  RedisSentinelTlsMisnamed() : RedisSentinelTls("DNS:other.example") {}
};

TEST_F(RedisSentinelTlsMisnamed, IsRefused) {
  RedisStoreClient alice(url());
  const Answer refused = alice.ask_until(
      "n", 500ms, [](const Answer& answer) { return refused_for(answer, "mismatch"); });
  EXPECT_EQ(refused.problem.errc, Errc::unavailable);
  EXPECT_NE(refused.problem.text.find("mismatch"), std::string::npos) << refused.problem.text;
}

}  // namespace
}  // namespace holdfast
