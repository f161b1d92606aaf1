// Goal: a Redis store knows what it can promise with its server's configuration, keeps to that when
// it is asked for correctness, and tells its state.
// Method: real servers, each configured differently; directly against the backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "stores/redis_client.hpp"
#include "support/eventually.hpp"
#include "support/redis/cluster.hpp"
#include "support/redis/server.hpp"

namespace holdfast {
namespace {

using namespace testing_support;
using support::eventually;
using support::RedisServer;

bool says(const Guarantees& given, std::string_view words) {
  return std::ranges::any_of(given.because, [&](const std::string& fact) {
    return fact.find(words) != std::string::npos;
  });
}

Guarantees promised(const std::string& url) {
  RedisStoreClient client(url);
  const Promise promise = client.guarantees();
  EXPECT_EQ(promise.problem.errc, Errc{}) << promise.problem.text;
  return promise.guarantees;
}

Answer ask_for_correctness(Client& client, std::string_view name) {
  const ClaimId claim = fresh_claim();
  Ask ask = Client::wanting(name, claim);
  ask.purpose = Purpose::correctness;
  return client.ask(ask);
}

// ── guarantees ───────────────────────────────────────────────────────────────────────────────────

TEST(RedisGuarantees, WithoutALogARestartForgets) {
  const RedisServer server;
  const Guarantees given = promised(server.url());
  EXPECT_EQ(given.purpose, Purpose::efficiency);
  EXPECT_TRUE(given.tokens);
  EXPECT_TRUE(given.fifo);
  EXPECT_FALSE(given.survives_restart);
  EXPECT_FALSE(given.survives_power_loss);
  EXPECT_FALSE(given.survives_clock_jump);
  EXPECT_TRUE(says(given, "no append-only file; set appendonly yes"));
}

TEST(RedisGuarantees, ASyncedLogServesCorrectness) {
  const RedisServer server({.appendfsync = "always"});
  const Guarantees given = promised(server.url());
  EXPECT_EQ(given.purpose, Purpose::correctness);
  EXPECT_TRUE(given.survives_restart);
  EXPECT_TRUE(given.survives_power_loss);
  EXPECT_FALSE(given.survives_clock_jump);
  EXPECT_TRUE(says(given, "appendfsync always"));
  EXPECT_TRUE(says(given, "noeviction"));
}

TEST(RedisGuarantees, ALogThatIsSyncedLaterDoesNot) {
  RedisServer server({.appendfsync = "everysec"});
  const Guarantees given = promised(server.url());
  EXPECT_EQ(given.purpose, Purpose::efficiency);
  EXPECT_FALSE(given.survives_power_loss);
  EXPECT_TRUE(says(given, "appendfsync is everysec"));
  server.client().command({"CONFIG", "SET", "appendfsync", "always"});
  server.client().command({"CONFIG", "SET", "no-appendfsync-on-rewrite", "yes"});
  EXPECT_TRUE(says(promised(server.url()), "no-appendfsync-on-rewrite"));
}

TEST(RedisGuarantees, TheGuardServesCorrectnessWithoutALog) {
  const RedisServer server;
  const Guarantees given = promised(server.url() + "?guard=on&guard_ttl=30s");
  EXPECT_EQ(given.purpose, Purpose::correctness);
  EXPECT_TRUE(given.survives_restart);
  EXPECT_TRUE(says(given, "guard=on"));
  EXPECT_TRUE(says(given, "no append-only file"));
}

TEST(RedisGuarantees, AServerThatEvictsServesEfficiency) {
  const RedisServer server(
      {.appendfsync = "always", .config = {"maxmemory-policy allkeys-lru", "maxmemory 64mb"}});
  const Guarantees given = promised(server.url());
  EXPECT_EQ(given.purpose, Purpose::efficiency);
  EXPECT_TRUE(says(given, "maxmemory-policy is allkeys-lru: locks may be evicted; set noeviction"));
}

TEST(RedisGuarantees, AServerWithAReplicaServesEfficiency) {
  const RedisServer master({.appendfsync = "always"});
  const RedisServer replica({.config = {"replicaof 127.0.0.1 " + std::to_string(master.port())}});
  auto looking = master.client();
  ASSERT_TRUE(eventually([&] { return looking.info("replication", "connected_slaves") == "1"; }));
  const Guarantees given = promised(master.url());
  EXPECT_EQ(given.purpose, Purpose::efficiency);
  EXPECT_FALSE(given.survives_restart);
  EXPECT_TRUE(says(given, "replicas are connected (1)"));
  EXPECT_TRUE(says(promised(replica.url()), "the server is a replica; name its master"));
}

TEST(RedisGuarantees, TheStringDialectNeverServesCorrectness) {
  const RedisServer server({.appendfsync = "always"});
  const Guarantees given = promised(server.url() + "?dialect=string");
  EXPECT_EQ(given.purpose, Purpose::efficiency);
  EXPECT_FALSE(given.tokens);
  EXPECT_FALSE(given.fifo);
  EXPECT_TRUE(given.survives_power_loss);
}

TEST(RedisGuarantees, WhatMayNotBeReadIsUnknown) {
  const RedisServer server(
      {.users = {"reader on >secret ~* &* +@all -config"}, .appendfsync = "always"});
  const Guarantees given =
      promised("redis://reader:secret@127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(given.purpose, Purpose::efficiency);
  EXPECT_TRUE(says(given, "unknown: may not read the configuration"));
}

TEST(RedisGuarantees, AServerThatIsDownIsAProblem) {
  RedisServer server;
  server.kill();
  RedisStoreClient client(server.url());
  EXPECT_EQ(client.guarantees().problem.errc, Errc::unavailable);
}

// ── correctness ──────────────────────────────────────────────────────────────────────────────────

TEST(RedisCorrectness, IsRefusedWithTheWayOut) {
  RedisServer server;
  RedisStoreClient client(server.url());
  const Answer refused = ask_for_correctness(client, "n");
  EXPECT_EQ(refused.said, Said::no);
  EXPECT_EQ(refused.problem.errc, Errc::unsupported);
  EXPECT_EQ(refused.problem.reason, "purpose");
  EXPECT_NE(refused.problem.text.find("or use guard=on"), std::string::npos);
  EXPECT_EQ(server.client().command({"DBSIZE"}).integer, 0);
  EXPECT_EQ(client.ask("n", fresh_claim()).said, Said::yes);  // efficiency is served
}

TEST(RedisCorrectness, WhoMendsTheServerIsHeardAtOnce) {
  RedisServer server({.appendfsync = "always", .config = {"maxmemory-policy volatile-lru"}});
  RedisStoreClient client(server.url());
  EXPECT_EQ(ask_for_correctness(client, "n").problem.reason, "purpose");
  server.client().command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_EQ(ask_for_correctness(client, "n").said, Said::yes);
}

TEST(RedisCorrectness, IsLookedIntoOnceAConnection) {
  RedisServer server({.appendfsync = "always"});
  RedisStoreClient client(server.url());
  ASSERT_EQ(ask_for_correctness(client, "a").said, Said::yes);
  auto looking = server.client();
  looking.command({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(ask_for_correctness(client, "b").said, Said::yes);
  EXPECT_EQ(looking.calls()["evalsha"], 1);
  EXPECT_EQ(looking.calls().count("config|get"), 0u);

  // The next connection looks into it again.
  looking.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  looking.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  Answer refused;
  ASSERT_TRUE(eventually([&] {
    refused = ask_for_correctness(client, "c");
    return refused.problem.errc != Errc::unavailable;
  }));
  EXPECT_EQ(refused.problem.reason, "purpose") << refused.problem.text;
}

TEST(RedisCorrectness, AWaiterForItStandsInLineAsWell) {
  RedisServer server({.appendfsync = "always"});
  RedisStoreClient holder(server.url()), waiter(server.url());
  const ClaimId first = fresh_claim(), second = fresh_claim();
  ASSERT_EQ(holder.ask("n", first).said, Said::yes);
  Ask ask = Client::wanting("n", second, true);
  ask.purpose = Purpose::correctness;
  EXPECT_EQ(waiter.ask(ask).said, Said::queued);
  EXPECT_EQ(holder.release("n", first).said, Said::yes);
  EXPECT_TRUE(waiter.stay_until([&] { return waiter.hints.grants().size() == 1; }));
}

TEST(RedisCorrectness, IsRefusedWithoutAskingWhereItCannotBe) {
  for (const auto* url :
       {"redis+sentinel://127.0.0.1:1/m", "redis+cluster://127.0.0.1:1",
        "redis://127.0.0.1:1?dialect=string", "redis://127.0.0.1:1?wait_replicas=1"}) {
    SCOPED_TRACE(url);
    RedisStoreClient client(url);
    const Answer refused = ask_for_correctness(client, "n");
    EXPECT_EQ(refused.said, Said::no);
    EXPECT_EQ(refused.problem.errc, Errc::unsupported);
  }
}

TEST(RedisCorrectness, EfficiencyPaysNothingForIt) {
  RedisServer server;
  RedisStoreClient client(server.url());
  ASSERT_EQ(client.ask("a", fresh_claim()).said, Said::yes);
  auto looking = server.client();
  looking.command({"CONFIG", "RESETSTAT"});
  ASSERT_EQ(client.ask("b", fresh_claim()).said, Said::yes);
  auto calls = looking.calls();
  EXPECT_EQ(calls["evalsha"], 1);
  EXPECT_EQ(calls.count("info"), 0u);
}

// ── inspect ──────────────────────────────────────────────────────────────────────────────────────

std::map<std::string, std::string> inspected(Client& client) {
  Recorded<Inspection> call;
  client.backend().inspect(call);
  client.backend().help(&call, BootClock::now() + 20s, -1);
  EXPECT_TRUE(call.finished());
  EXPECT_EQ(call.value.problem.errc, Errc{}) << call.value.problem.text;
  std::map<std::string, std::string> facts;
  for (const Fact& fact : call.value.facts) facts[fact.word] = fact.text;
  return facts;
}

TEST(RedisInspection, TellsWhoTheServerIsAndWhichScriptsItHas) {
  RedisServer server;
  RedisStoreClient client(server.url());
  auto facts = inspected(client);
  EXPECT_EQ(facts["server"], server.address());
  EXPECT_EQ(facts["version"], server.client().info("server", "redis_version"));
  EXPECT_EQ(facts["run_id"], server.client().info("server", "run_id"));
  EXPECT_EQ(facts["role"], "master");
  EXPECT_EQ(facts["replicas"], "0");
  EXPECT_EQ(facts["guard"], "off");
  EXPECT_NE(facts["scripts"].find("are loaded"), std::string::npos) << facts["scripts"];
  server.client().command({"SCRIPT", "FLUSH"});
  facts = inspected(client);
  EXPECT_NE(facts["scripts"].find("not loaded"), std::string::npos) << facts["scripts"];
  EXPECT_EQ(facts["connections"], "2");  // one for commands, one for messages
  EXPECT_EQ(facts["messages"], "listens for them");
  EXPECT_EQ(facts["tls"], "off");
}

TEST(RedisInspection, TellsOfTheGuard) {
  RedisServer server;
  RedisStoreClient client(server.url() + "?guard=on&guard_ttl=60s");
  EXPECT_NE(inspected(client)["guard"].find("not marked yet"), std::string::npos);
  ASSERT_EQ(client.init(Init::as_new).said, Said::yes);
  EXPECT_EQ(inspected(client)["guard"], "on; no quarantine");
  server.client().command({"DEL", "hf:guard"});
  ASSERT_EQ(client.ask("m", fresh_claim()).problem.reason, "quarantine");
  EXPECT_NE(inspected(client)["guard"].find("quarantine for another"), std::string::npos);
}

TEST(RedisInspection, LooksAtEveryMasterOfACluster) {
  support::RedisCluster cluster;
  RedisStoreClient client(cluster.url());
  Recorded<Inspection> call;
  client.backend().inspect(call);
  client.backend().help(&call, BootClock::now() + 20s, -1);
  ASSERT_TRUE(call.finished());
  EXPECT_EQ(std::ranges::count(call.value.facts, "server", &Fact::word), 3);
  const Guarantees given = client.guarantees().guarantees;
  EXPECT_EQ(given.purpose, Purpose::efficiency);
  EXPECT_TRUE(says(given, "a Cluster means failover"));
}

}  // namespace
}  // namespace holdfast
