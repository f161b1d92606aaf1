// Goal: with wait_replicas nothing is granted or renewed that a failover could undo unnoticed.
// Method: a real master with two replicas, which are stopped; and the same in a Cluster.
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <thread>

#include "holdfast/holdfast.hpp"
#include "stores/redis_client.hpp"
#include "stores/shared_servers.hpp"
#include "support/redis/cluster.hpp"
#include "support/redis/left.hpp"
#include "support/redis/replicas.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace testing_support;
using support::RedisReplicas;

// On a slow machine the time may be up before the server has said so.
bool not_replicated(const Store& store) {
  return support::eventually([&] {
    const auto lease = store.lock("n", {.ttl = support::held_long}).try_acquire_for(1s);
    EXPECT_FALSE(lease);
    return support::failed(lease, Errc::unavailable) && lease.error().reason() == "not_replicated";
  });
}

class RedisAcknowledged : public testing::Test {
 protected:
  static void TearDownTestSuite() { shared_.end(); }
  // A master sends a newly synchronized replica nothing until that reports it, a second later.
  void SetUp() override {
    auto master = redis.servers()[0]->client();
    ASSERT_TRUE(support::eventually([&] {
      master.command({"SET", "ready", "yes"});
      return master.command({"WAIT", "2", "1000"}).integer == 2;
    }));
    master.command({"CONFIG", "RESETSTAT"});
  }
  std::string url(const std::string& replicas) {
    return redis.servers()[0]->url() + "?wait_replicas=" + replicas;
  }
  void stop(std::size_t count) {
    for (std::size_t at = 1; at <= count; ++at) redis.servers()[at]->stop();
  }
  void resume(std::size_t count) {
    for (std::size_t at = 1; at <= count; ++at) redis.servers()[at]->resume();
  }
  long waits() { return redis.servers()[0]->client().calls()["wait"]; }

  RedisReplicas& redis = shared_.empty();

 private:
  // No failover, however long a replica stands still.
  static inline SharedServers<RedisReplicas> shared_{
      [] { return std::make_unique<RedisReplicas>(Millis(60'000)); }};
};

TEST_F(RedisAcknowledged, ReplicasHaveWhatWasGranted) {
  RedisStoreClient alice(url("all"));
  const ClaimId hers = fresh_claim();
  const Answer granted = alice.ask("n", hers);
  ASSERT_EQ(granted.said, Said::yes) << granted.problem.text;
  for (const auto& server : redis.servers())
    EXPECT_EQ(server->client().command({"EXISTS", "hf:{n}"}).integer, 1);
  EXPECT_EQ(waits(), 1);
  EXPECT_EQ(alice.renew("n", hers).said, Said::yes);
  EXPECT_EQ(waits(), 2);
  EXPECT_EQ(alice.release("n", hers).said, Said::yes);
  EXPECT_EQ(waits(), 2);
}

TEST_F(RedisAcknowledged, AsManyAsWereAskedForMustHaveIt) {
  RedisStoreClient one(url("1")), majority(url("majority")), two(url("2")), all(url("all"));
  for (RedisStoreClient* each : {&one, &majority, &two, &all})  // before a replica stands still
    EXPECT_EQ(each->ask("first", fresh_claim()).problem.errc, each == &one ? Errc{} : Errc::busy);
  stop(1);
  EXPECT_EQ(one.ask("a", fresh_claim()).said, Said::yes);
  EXPECT_EQ(majority.ask("b", fresh_claim()).said, Said::yes);  // two of three servers have it
  for (RedisStoreClient* each : {&two, &all}) {
    const Answer answer = each->ask(each == &two ? "c" : "d", fresh_claim());
    EXPECT_EQ(answer.said, Said::unknown);
    EXPECT_EQ(answer.problem.errc, Errc::unavailable);
    EXPECT_EQ(answer.problem.reason, "not_replicated");
    EXPECT_NE(answer.problem.text.find("only 1 of 2"), std::string::npos) << answer.problem.text;
  }
  resume(1);
}

TEST_F(RedisAcknowledged, WhatIsRefusedNeedsNoReplica) {
  RedisStoreClient alice(url("all")), bob(url("all"));
  ASSERT_EQ(alice.ask("n", fresh_claim()).said, Said::yes);
  stop(2);
  EXPECT_EQ(bob.ask("n", fresh_claim()).problem.errc, Errc::busy);
  resume(2);
}

TEST_F(RedisAcknowledged, ARenewalThatReplicasLackCountsNot) {
  RedisStoreClient alice(url("all"));
  const ClaimId hers = fresh_claim();
  ASSERT_EQ(alice.ask("n", hers).said, Said::yes);
  stop(2);
  const Answer renewed = alice.renew("n", hers);
  EXPECT_EQ(renewed.said, Said::unknown);
  EXPECT_EQ(renewed.problem.reason, "not_replicated");
  EXPECT_EQ(alice.release("n", hers).said, Said::yes);
  resume(2);
  EXPECT_EQ(alice.ask("n", fresh_claim()).said, Said::yes);
}

TEST_F(RedisAcknowledged, WithoutAnyReplicaNothingIsGranted) {
  support::RedisServer alone;
  for (const std::string replicas : {"1", "majority", "all"}) {
    RedisStoreClient alice(alone.url() + "?wait_replicas=" + replicas);
    const Answer answer = alice.ask("n" + replicas, fresh_claim());
    EXPECT_EQ(answer.said, Said::unknown) << replicas;
    EXPECT_EQ(answer.problem.reason, "not_replicated");
  }
}

TEST_F(RedisAcknowledged, AnAcquireThatWasNotAcknowledgedIsWithdrawn) {
  const auto store = open(url("all")).value();
  ASSERT_TRUE(support::succeeded(store.lock("first").try_acquire()));
  stop(2);
  EXPECT_TRUE(not_replicated(store));
  EXPECT_TRUE(support::nothing_left_but_marks(*redis.servers()[0], "n"));
  resume(2);
  EXPECT_TRUE(support::succeeded(support::take_at_once(store, "n")));
}

TEST_F(RedisAcknowledged, AHandedOverGrantIsConfirmedFirst) {
  RedisStoreClient alice(url("all")), bob(url("all"));
  const ClaimId hers = fresh_claim(), his = fresh_claim();
  ASSERT_EQ(alice.ask("n", hers).said, Said::yes);
  ASSERT_EQ(bob.ask("n", his, true).said, Said::queued);
  EXPECT_EQ(alice.release("n", hers).said, Said::yes);
  ASSERT_TRUE(bob.stay_until([&] { return !bob.hints.grants().empty(); }));
  EXPECT_EQ(bob.hints.grants()[0].answer.store_us, 0);  // so the core renews before it counts
  EXPECT_EQ(bob.renew("n", his).said, Said::yes);
}

TEST_F(RedisAcknowledged, TheCoreGivesOutNoHandedOverLeaseWithoutReplicas) {
  const auto alice = open(url("all")).value();
  const auto bob = open(url("all")).value();
  auto held = alice.lock("n").acquire();
  ASSERT_TRUE(support::succeeded(held));
  ASSERT_TRUE(support::failed(bob.lock("n").try_acquire(), Errc::busy));
  std::optional<Result<Lease>> got;
  std::thread waiter([&] { got.emplace(bob.lock("n").acquire()); });
  ASSERT_TRUE(support::eventually([&] { return support::waiting(alice, "n") == 1; }));
  stop(2);
  EXPECT_TRUE(support::succeeded(held->release()));
  // The master granted it, and the replicas were asked in vain.
  const long before = waits();
  EXPECT_TRUE(support::eventually([&] { return waits() > before + 1; }));
  resume(2);
  waiter.join();
  EXPECT_TRUE(support::succeeded(*got));
}

TEST_F(RedisAcknowledged, ManyAtOnceShareOneWait) {
  RedisStoreClient alice(url("all"));
  ASSERT_EQ(alice.ask("first", fresh_claim()).said, Said::yes);
  const long before = waits();
  std::deque<std::string> names;
  std::deque<Ask> asks;
  std::deque<Recorded<Answer>> calls;
  for (int i = 0; i < 50; ++i) {
    names.push_back("n" + std::to_string(i));
    asks.push_back(RedisStoreClient::wanting(names.back(), fresh_claim()));
    alice.backend().ask(asks.back(), calls.emplace_back());
  }
  for (auto& call : calls) {
    alice.backend().help(&call, call.deadline, -1);
    EXPECT_EQ(call.value.said, Said::yes) << call.value.problem.text;
  }
  EXPECT_LE(waits() - before, 5);
}

// Each master of a Cluster has a replica of its own, and the store asks only that one.
TEST(RedisClusterAcknowledged, AcquiresCountWhenTheReplicaOfTheirSlotHasThem) {
  support::RedisCluster cluster{Millis(60'000)};
  auto& master = cluster.master_of(cluster.slot_of("hf:{n}"));
  auto& replica = cluster.replica_of(master);
  auto at_master = master.client();
  ASSERT_TRUE(support::eventually([&] {
    at_master.command({"SET", "{n}", "ready"});
    return at_master.command({"WAIT", "1", "1000"}).integer == 1;
  }));
  const auto store = open(cluster.url() + "?wait_replicas=all").value();
  auto lease = store.lock("n").acquire();
  ASSERT_TRUE(support::succeeded(lease));
  auto at_replica = replica.client();
  at_replica.command({"READONLY"});
  EXPECT_EQ(at_replica.command({"EXISTS", "hf:{n}"}).integer, 1);
  EXPECT_TRUE(support::succeeded(lease->release()));

  replica.stop();
  EXPECT_TRUE(not_replicated(store));
  EXPECT_TRUE(support::nothing_left_but_marks(master, "n"));
  replica.resume();
  EXPECT_TRUE(support::succeeded(support::take_at_once(store, "n")));
}

}  // namespace
}  // namespace holdfast
