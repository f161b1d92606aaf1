// Goal: a lock in a Redis Cluster stays usable while its slot moves or its master dies, and no
// client is sent round for ever.
// Method: six real nodes; slots moved step by step; a hostile node for what real ones do not do.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "stores/redis/keys.hpp"
#include "stores/redis_client.hpp"
#include "stores/shared_servers.hpp"
#include "support/eventually.hpp"
#include "support/evil_server.hpp"
#include "support/redis/cluster.hpp"

namespace holdfast {
namespace {

using namespace testing_support;
using stores::redis::lock_key;
using stores::redis::marker_key;
using stores::redis::slot_of;
using support::EvilServer;
using support::RedisCluster;
using support::RedisCommand;
using support::RedisServer;
using support::Say;

class RedisClusterTest : public testing::Test {
 protected:
  static void TearDownTestSuite() { shared_.end(); }
  static int slot(const std::string& name) { return slot_of(lock_key(name)); }
  // Names whose slots this master has.
  std::vector<std::string> names_at(const RedisServer& master, std::size_t count) {
    std::vector<std::string> names;
    for (int i = 0; names.size() < count; ++i) {
      std::string name = "n" + std::to_string(i);
      if (&cluster.master_of(slot(name)) == &master) names.push_back(std::move(name));
    }
    return names;
  }
  // The node at which this process listens; null: none.
  RedisServer* listened_at() {
    for (const auto& node : cluster.nodes()) {
      if (!node->running()) continue;
      auto redis = node->client();
      if (!redis.command({"PUBSUB", "CHANNELS", "hf:to:*"}).items.empty()) return node.get();
    }
    return nullptr;
  }
  // What the master has confirmed, its replica has a little later.
  bool replicated(const std::string& key) {
    auto& master = cluster.master_of(slot_of(key));
    auto replica = cluster.replica_of(master).client();
    const auto offset = [](auto&& redis) {
      return redis.info("replication", "master_repl_offset");
    };
    return support::eventually([&] { return offset(master.client()) == offset(replica); });
  }

  RedisCluster& cluster = shared_.empty();

 private:
  // So long that a busy machine causes no failover. A wanted failover would take as long.
  static inline SharedServers<RedisCluster> shared_{
      [] { return std::make_unique<RedisCluster>(Millis(60'000)); }};
};

TEST_F(RedisClusterTest, EveryNameHasItsNode) {
  RedisStoreClient alice(cluster.url()), bob(cluster.url());
  for (int i = 0; i < 30; ++i) {
    const std::string name = "n" + std::to_string(i);
    const ClaimId hers = fresh_claim();
    const Answer granted = alice.ask(name, hers);
    ASSERT_EQ(granted.said, Said::yes) << granted.problem.text;
    EXPECT_EQ(bob.ask(name, fresh_claim()).problem.errc, Errc::busy);
    EXPECT_EQ(alice.renew(name, hers).said, Said::yes);
    EXPECT_EQ(alice.release(name, hers).said, Said::yes);
  }
  for (const auto& node : cluster.nodes()) {
    auto redis = node->client();
    EXPECT_TRUE(support::eventually([&] { return redis.command({"DBSIZE"}).integer > 0; }));
  }
}

TEST_F(RedisClusterTest, ABatchIsDividedByItsSlots) {
  RedisStoreClient alice(cluster.url());
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back("n" + std::to_string(i));
  std::vector<Keep> keeps;
  for (const auto& name : names) {
    keeps.push_back({name, fresh_claim(), 1, 30s});
    if (name == "n7") continue;
    ASSERT_EQ(alice.ask(name, keeps.back().claim).said, Said::yes);
  }
  Recorded<std::span<Answer>> call;
  alice.backend().renew(keeps, call);
  alice.backend().help(&call, call.deadline, -1);
  ASSERT_EQ(call.value.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(call.value[i].said, names[i] == "n7" ? Said::gone : Said::yes) << names[i];
}

TEST_F(RedisClusterTest, AReleaseIsToldThroughAnotherNode) {
  RedisStoreClient alice(cluster.url()), bob(cluster.url());
  for (int i = 0; i < 6; ++i) {
    const std::string name = "n" + std::to_string(i);
    const ClaimId hers = fresh_claim(), his = fresh_claim();
    ASSERT_EQ(alice.ask(name, hers).said, Said::yes);
    ASSERT_EQ(bob.ask(name, his, true).said, Said::queued);
    EXPECT_EQ(alice.release(name, hers).said, Said::yes);
    const auto told = [&] {
      return std::ranges::any_of(bob.hints.grants(), [&](auto& each) { return each.claim == his; });
    };
    ASSERT_TRUE(bob.stay_until(told)) << name;
    EXPECT_LE(bob.hints.grants().back().answer.ttl, 2s);  // until its first renewal
  }
}

TEST_F(RedisClusterTest, ASlotMovesWhileInUse) {
  RedisStoreClient alice(cluster.url()), bob(cluster.url());
  const std::string name = "n";
  auto& from = cluster.master_of(slot(name));
  auto& to = cluster.other_master(from);
  const ClaimId hers = fresh_claim();
  const auto works = [&](const char* when) {
    SCOPED_TRACE(when);
    const Answer renewed = alice.renew(name, hers);
    EXPECT_EQ(renewed.said, Said::yes) << renewed.problem.text;
    const Answer busy = bob.ask(name, fresh_claim());
    EXPECT_EQ(busy.said, Said::no);
    EXPECT_EQ(busy.problem.errc, Errc::busy) << busy.problem.text;
  };
  ASSERT_EQ(alice.ask(name, hers).said, Said::yes);
  cluster.start_move(slot(name), to);
  works("before its key has moved");
  cluster.move_keys(slot(name), to);
  works("when the old node answers ASK");
  EXPECT_EQ(from.client().attempt({"EXISTS", lock_key(name)}).text.substr(0, 4), "ASK ");
  cluster.finish_move(slot(name), to);
  works("when it answers MOVED");
  EXPECT_EQ(alice.release(name, hers).said, Said::yes);
  EXPECT_EQ(bob.ask(name, fresh_claim()).said, Said::yes);
  EXPECT_EQ(to.client().command({"EXISTS", lock_key(name)}).integer, 1);
  cluster.move(slot(name), from);
}

TEST_F(RedisClusterTest, AGuardedSlotInTwoPlacesIsTriedAgainUntilTheDeadline) {
  RedisStoreClient alice(cluster.url() + "?guard=on");
  const std::string name = "n";
  auto& from = cluster.master_of(slot(name));
  auto& to = cluster.other_master(from);
  ASSERT_EQ(alice.init(Init::as_new).said, Said::yes);
  ASSERT_EQ(alice.ask(name, fresh_claim()).said, Said::yes);
  cluster.start_move(slot(name), to);
  from.client().command(
      {"MIGRATE", "127.0.0.1", std::to_string(to.port()), lock_key(name), "0", "5000"});
  const Answer torn = alice.ask_until(
      name, 500ms, [](const Answer& answer) { return refused_for(answer, "try_again"); });
  EXPECT_EQ(torn.said, Said::no);
  EXPECT_EQ(torn.problem.errc, Errc::unavailable);
  EXPECT_EQ(torn.problem.reason, "try_again") << torn.problem.text;

  Recorded<Answer> call;
  const ClaimId hers = fresh_claim();
  const Ask ask = RedisStoreClient::wanting(name, hers);
  alice.backend().ask(ask, call);
  alice.backend().help(&call, BootClock::now() + 100ms, -1);
  EXPECT_FALSE(call.finished());
  cluster.move_keys(slot(name), to);
  alice.backend().help(&call, call.deadline, -1);
  ASSERT_TRUE(call.finished());
  EXPECT_NE(call.value.problem.reason, "try_again") << call.value.problem.text;
  cluster.finish_move(slot(name), to);
  cluster.move(slot(name), from);
}

TEST_F(RedisClusterTest, WhoListensToANodeThatDiesListensToAnother) {
  RedisStoreClient alice(cluster.url()), bob(cluster.url());
  ASSERT_EQ(alice.ask("n", fresh_claim()).said, Said::yes);
  ASSERT_EQ(bob.ask("n", fresh_claim(), true).said, Said::queued);
  RedisServer* const node = listened_at();
  ASSERT_TRUE(node);
  const auto name = names_at(cluster.other_master(*node), 1).front();
  const ClaimId hers = fresh_claim(), his = fresh_claim();
  ASSERT_EQ(alice.ask(name, hers).said, Said::yes);
  ASSERT_EQ(bob.ask(name, his, true).said, Said::queued);
  node->kill();
  ASSERT_TRUE(bob.stay_until([&] { return !bob.hints.looks().empty(); }));
  RedisServer* const other = listened_at();
  ASSERT_TRUE(other);
  EXPECT_NE(other, node);
  EXPECT_EQ(alice.release(name, hers).said, Said::yes);
  const auto told = [&] {
    return std::ranges::any_of(bob.hints.grants(), [&](auto& each) { return each.claim == his; });
  };
  EXPECT_TRUE(bob.stay_until(told));
  node->start();
  EXPECT_TRUE(support::eventually([&] { return cluster.agreed(); }));
}

TEST_F(RedisClusterTest, AFailoverStartsTheQuarantineOfEverySlotInUse) {
  cluster.set_node_timeout(1s);
  RedisStoreClient alice(cluster.url() + "?guard=on&guard_ttl=60s");
  ASSERT_EQ(alice.init(Init::as_new).said, Said::yes);
  auto& old = cluster.master_of(slot("n"));
  const auto names = names_at(old, 5);
  std::vector<ClaimId> claims;
  for (const auto& name : names) {
    claims.push_back(fresh_claim());
    const Answer answer = alice.ask(name, claims.back());
    ASSERT_EQ(answer.said, Said::yes) << answer.problem.text;
    ASSERT_TRUE(replicated(lock_key(name)));
  }
  auto& next = cluster.failover(old);
  const std::string run_id = next.client().info("server", "run_id");
  // One of these slots is used, so the store touches the others too.
  EXPECT_EQ(alice.renew(names[0], claims[0]).said, Said::yes);
  EXPECT_TRUE(alice.stay_until([&] {
    return std::ranges::all_of(names, [&](const auto& name) {
      const auto marker = marker_key(slot_of(lock_key(name)));
      return next.client().command({"GET", marker}).text.starts_with(run_id);
    });
  }));
  EXPECT_EQ(alice.ask(names[3], fresh_claim()).said, Said::no);
  EXPECT_EQ(alice.renew(names[3], claims[3]).said, Said::yes);
  cluster.failover(next);
}

TEST_F(RedisClusterTest, AReplicaTakesOver) {
  cluster.set_node_timeout(1s);
  // Not where another case has just ordered a failover: nobody would vote for a second so soon.
  const auto name = names_at(cluster.other_master(cluster.master_of(slot("n"))), 1).front();
  RedisStoreClient alice(cluster.url());
  const ClaimId hers = fresh_claim();
  ASSERT_EQ(alice.ask(name, hers).said, Said::yes);
  ASSERT_TRUE(replicated(lock_key(name)));
  auto& next = cluster.failover(cluster.master_of(slot(name)));
  EXPECT_EQ(alice.renew(name, hers).said, Said::yes);
  EXPECT_EQ(next.client().info("replication", "role"), "master");

  ASSERT_TRUE(replicated(lock_key(name)));
  next.kill();
  cluster.master_instead_of(next, slot(name));
  const Answer again = alice.ask_until_decided(name, hers);
  EXPECT_EQ(again.said, Said::yes) << again.problem.text;
  EXPECT_EQ(alice.release(name, hers).said, Said::yes);
}

TEST_F(RedisClusterTest, WithoutAMasterItIsUnavailable) {
  RedisStoreClient alice(cluster.url());
  const ClaimId hers = fresh_claim();
  ASSERT_EQ(alice.ask("n", hers).said, Said::yes);
  auto& master = cluster.master_of(slot("n"));
  cluster.replica_of(master).kill();
  master.kill();
  // The first ask may have been under way; later ones are not sent at all.
  EXPECT_NE(alice.ask(RedisStoreClient::wanting("n", hers), 500ms).said, Said::yes);
  const Answer down = alice.ask(RedisStoreClient::wanting("n", hers), 500ms);
  EXPECT_EQ(down.said, Said::no);
  EXPECT_EQ(down.problem.errc, Errc::unavailable) << down.problem.text;
}

// ── what real nodes do not do ────────────────────────────────────────────────────────────────────

// A node that has all slots and answers each script with `error`.
class HostileNode {
 public:
  explicit HostileNode(const std::string& error)
      : server_([this, error](const RedisCommand& command) -> std::optional<Say> {
          if (command.front() == "CLUSTER")
            return Say{"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:" + std::to_string(port()) +
                       "\r\n"};
          if (command.front() != "EVALSHA" && command.front() != "EVAL") return std::nullopt;
          std::string bytes = "-" + error + "\r\n";
          const auto fill = [&](std::string_view what, const std::string& with) {
            if (const auto at = bytes.find(what); at != bytes.npos)
              bytes.replace(at, what.size(), with);
          };
          fill("SLOT", std::to_string(slot_of(lock_key("n"))));
          fill("SELF", "127.0.0.1:" + std::to_string(port()));
          return Say{bytes};
        }) {}
  int port() const { return server_.port(); }
  std::string url() const { return "redis+cluster://" + server_.address(); }
  long scripts() const { return server_.commands("EVALSHA") + server_.commands("EVAL"); }
  long new_scripts() { return scripts() - std::exchange(counted_, scripts()); }

 private:
  EvilServer server_;
  long counted_ = 0;
};

TEST(HostileCluster, NobodyIsLedAroundForEver) {
  for (const std::string error :
       {"MOVED SLOT SELF", "MOVED 1 SELF", "ASK SLOT SELF", "MOVED SLOT :SELF", "MOVED 99999 SELF",
        "MOVED SLOT 127.0.0.1:0", "MOVED", "ASK SLOT nowhere"}) {
    SCOPED_TRACE(error);
    HostileNode node(error);
    RedisStoreClient alice(node.url());
    const Answer answer = alice.ask_until("n", 1s, [&](const Answer& last) {
      EXPECT_LE(node.new_scripts(), 17);
      return last.said == Said::no;
    });
    EXPECT_EQ(answer.said, Said::no);
    EXPECT_EQ(answer.problem.errc, Errc::unavailable) << answer.problem.text;
  }
}

TEST(HostileCluster, NobodyIsLedNowhere) {
  const int closed = support::Listener().port();
  HostileNode node("MOVED SLOT 127.0.0.1:" + std::to_string(closed));
  RedisStoreClient alice(node.url());
  const Answer answer =
      alice.ask_until("n", 500ms, [](const Answer& last) { return last.said == Said::no; });
  EXPECT_EQ(answer.said, Said::no);
  EXPECT_EQ(answer.problem.errc, Errc::unavailable) << answer.problem.text;
}

TEST(HostileCluster, ItsWordIsToldWhenTheDeadlineHasCome) {
  HostileNode node("CLUSTERDOWN Hash slot not served");
  RedisStoreClient alice(node.url());
  const Answer answer = alice.ask_until(
      "n", 500ms, [](const Answer& last) { return last.problem.reason == "cluster_down"; });
  // Unknown if it was just asking once more.
  EXPECT_TRUE(answer.said == Said::no || answer.said == Said::unknown);
  EXPECT_EQ(answer.problem.reason, "cluster_down");
  EXPECT_NE(answer.problem.text.find("Hash slot not served"), std::string::npos);
  EXPECT_GT(node.scripts(), 1);
}

TEST(HostileCluster, AServerAloneIsNone) {
  RedisServer server;
  RedisStoreClient alice("redis+cluster://" + server.address());
  const Answer answer = alice.ask("n", fresh_claim());
  EXPECT_EQ(answer.said, Said::no);
  EXPECT_EQ(answer.problem.errc, Errc::invalid) << answer.problem.text;
}

// The nodes name each other by their ports for TLS, and each certificate is checked.
TEST(RedisClusterTls, TakesAndHandsOverAtEveryNode) {
  RedisCluster cluster(Millis(1000), {.tls = support::authority().issue("IP:127.0.0.1")});
  RedisStoreClient alice(cluster.tls_url()), bob(cluster.tls_url());
  for (int i = 0; i < 6; ++i) {
    const std::string name = "n" + std::to_string(i);
    const ClaimId hers = fresh_claim(), his = fresh_claim();
    const Answer granted = alice.ask(name, hers);
    ASSERT_EQ(granted.said, Said::yes) << granted.problem.text;
    ASSERT_EQ(bob.ask(name, his, true).said, Said::queued);
    EXPECT_EQ(alice.release(name, hers).said, Said::yes);
    const auto count = static_cast<std::size_t>(i) + 1;
    ASSERT_TRUE(bob.stay_until([&] { return bob.hints.grants().size() == count; }));
    EXPECT_EQ(bob.hints.grants().back().claim, his);
    EXPECT_EQ(bob.release(name, his).said, Said::yes);
  }
}

TEST(RedisClusterTls, NodesWithAnothersNameAreRefused) {
  RedisCluster cluster(Millis(1000), {.tls = support::authority().issue("DNS:other.example")});
  RedisStoreClient alice(cluster.tls_url());
  const Answer refused = alice.ask_until(
      "n", 500ms, [](const Answer& answer) { return refused_for(answer, "mismatch"); });
  EXPECT_EQ(refused.problem.errc, Errc::unavailable);
  EXPECT_NE(refused.problem.text.find("mismatch"), std::string::npos) << refused.problem.text;
}

}  // namespace
}  // namespace holdfast
