// Goal: the servers, the proxy and the hostile server that other tests rely on do what they say.

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "support/evil_server.hpp"
#include "support/proxy.hpp"
#include "support/redis/cluster.hpp"
#include "support/redis/replicas.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;
using Type = RedisReply::Type;

const RedisCommand set = {"SET", "key", "value"}, get = {"GET", "key"};

TEST(RedisServerTest, KeepsItsDataIfItHasAFile) {
  RedisServer server({.appendfsync = "always"});
  server.client().command(set);
  server.restart();
  EXPECT_EQ(server.client().command(get).text, "value");
  server.restart(RedisServer::Data::gone);
  EXPECT_EQ(server.client().command(get).type, Type::nil);
}

TEST(RedisServerTest, StandsStillAndGoesOn) {
  RedisServer server;
  server.stop();
  auto answer = std::async(std::launch::async, [&] { return server.client().command(set).text; });
  EXPECT_EQ(answer.wait_for(50ms), std::future_status::timeout);
  server.resume();
  EXPECT_EQ(answer.get(), "OK");
  server.kill();
  EXPECT_THROW(server.client(), std::exception);
}

TEST(RedisServerTest, TellsWhyItDoesNotStart) {
  try {
    const RedisServer server({.config = {"no-such-option yes"}});
    ADD_FAILURE() << "it started";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-option"), std::string::npos) << error.what();
  }
}

TEST(RedisServerTest, KnowsItsUsers) {
  const RedisServer server({.password = "open", .users = {"alice on >sesame ~* +get"}});
  EXPECT_EQ(RedisClient(server.port()).attempt(get).text.substr(0, 6), "NOAUTH");
  auto alice = RedisClient(server.port());
  alice.command({"AUTH", "alice", "sesame"});
  EXPECT_EQ(alice.attempt(get).type, Type::nil);
  EXPECT_EQ(alice.attempt(set).text.substr(0, 6), "NOPERM");
  EXPECT_EQ(server.client().calls().at("get"), 1);
}

TEST(RedisServerTest, SpeaksTls) {
  const RedisServer server({.tls = authority().issue(loopback_names)});
  const auto greets = [&](const std::string& ca) {
    return Process({"redis-cli", "-p", std::to_string(server.tls_port()), "--tls", "--cacert", ca,
                    "PING"})
               .read() == "PONG";
  };
  EXPECT_TRUE(greets(authority().file()));
  EXPECT_THROW(greets(Authority().file()), std::exception);
}

void set_and_wait(RedisServer& master, int replicas) {
  auto redis = master.client();
  redis.command(set);
  redis.command({"WAIT", std::to_string(replicas), "0"});
}

TEST(RedisReplicasTest, FailOver) {
  RedisReplicas replicas;
  auto& first = replicas.master();
  set_and_wait(first, 2);
  auto& second = replicas.failover();
  EXPECT_NE(&first, &second);
  EXPECT_EQ(first.client().attempt(set).text.substr(0, 8), "READONLY");
  second.kill();
  auto& third = replicas.master_instead_of(second);
  EXPECT_EQ(third.client().command(get).text, "value");
}

TEST(RedisNodesTest, MovesSlotsAndFailsOver) {
  RedisCluster cluster;
  const int slot = cluster.slot_of("key");
  auto& first = cluster.master_of(slot);
  first.client().command(set);

  auto& second = cluster.other_master(first);
  cluster.start_move(slot, second);
  cluster.move_keys(slot, second);
  EXPECT_EQ(first.client().attempt(get).text.substr(0, 3), "ASK");
  cluster.finish_move(slot, second);
  EXPECT_EQ(first.client().attempt(get).text.substr(0, 5), "MOVED");
  EXPECT_EQ(second.client().command(get).text, "value");

  auto& third = cluster.failover(second);
  EXPECT_EQ(third.client().command(get).text, "value");
  third.kill();
  EXPECT_EQ(&cluster.master_instead_of(third, slot), &second);
}

TEST(LenderTest, LendsOfEveryRow) {
  for (const auto& row : store_cases()) {
    if (row.host != Host::lender) continue;
    SCOPED_TRACE(row.name);
    const World world(row);
    EXPECT_EQ(world.url().substr(0, row.scheme.size() + 3), row.scheme + "://");
  }
}

TEST(LenderTest, LendsEachToOneAlone) {
  const auto row = std::ranges::find(all_store_cases(), "redis", &StoreCase::name);
  const World first(*row);
  const World second(*row);
  EXPECT_NE(first.url(), second.url());
}

TEST(LenderTest, LendsItEmpty) {
  const auto row = std::ranges::find(all_store_cases(), "redis", &StoreCase::name);
  for (int round = 0; round < 3; ++round) {
    const World world(*row);
    const auto url = world.url();
    RedisClient redis(std::stoi(url.substr(url.rfind(':') + 1)));
    EXPECT_EQ(redis.command({"DBSIZE"}).integer, 0);
    redis.command(set);
  }
}

TEST(LenderTest, RestartsWhatIsOnLoan) {
  for (const auto& row : store_cases()) {
    if (row.host != Host::lender) continue;
    SCOPED_TRACE(row.name);
    World world(row);
    EXPECT_NO_THROW(world.restart());
  }
}

class ProxyTest : public testing::Test {
 protected:
  std::future<RedisReply> ask(RedisClient& client, const RedisCommand& command) {
    return std::async(std::launch::async, [&client, command] { return client.command(command); });
  }
  std::string at_server() { return server.client().command(get).text; }

  RedisServer server;
  Proxy proxy{server.port()};
};

TEST_F(ProxyTest, PassesOnAndCounts) {
  RedisClient client(proxy.port());
  EXPECT_EQ(client.command(set).text, "OK");
  proxy.trickle();
  EXPECT_EQ(client.command(get).text, "value");
  proxy.delay(20ms);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(client.command(get).text, "value");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 40ms);
  const auto counts = proxy.counts();
  EXPECT_EQ(counts.connections, 1);
  EXPECT_EQ(counts.open, 1);
  EXPECT_EQ(counts.request_bytes, static_cast<long>(encode(set).size() + 2 * encode(get).size()));
  EXPECT_EQ(counts.reply_bytes, 5 + 2 * 11);
}

TEST_F(ProxyTest, HoldsWhatComesLater) {
  RedisClient client(proxy.port());
  proxy.hold(Way::replies);
  auto reply = ask(client, set);
  EXPECT_TRUE(eventually([&] { return at_server() == "value"; }));
  EXPECT_EQ(reply.wait_for(0ms), std::future_status::timeout);
  proxy.heal();
  EXPECT_EQ(reply.get().text, "OK");

  proxy.hold();
  reply = ask(client, {"SET", "key", "other"});
  proxy.reset();
  EXPECT_THROW(reply.get(), std::exception);
  EXPECT_EQ(at_server(), "value");
}

TEST_F(ProxyTest, CutsAtEveryByte) {
  for (std::size_t bytes = 0; bytes < 5; ++bytes) {
    SCOPED_TRACE(bytes);
    const auto value = std::to_string(bytes);
    proxy.cut(Way::replies, bytes, "SET");
    RedisClient client(proxy.port());
    client.command(get);
    const auto before = proxy.counts().reply_bytes;
    EXPECT_THROW(client.command({"SET", "key", value}), std::exception);
    EXPECT_EQ(at_server(), value);  // The server did it.
    EXPECT_EQ(proxy.counts().reply_bytes, before + static_cast<long>(bytes));
  }
  proxy.cut(Way::requests, 7, "SET", 2);
  RedisClient client(proxy.port());
  client.command({"SET", "key", "first"});
  EXPECT_THROW(client.command({"SET", "key", "second"}), std::exception);
  EXPECT_EQ(at_server(), "first");  // It never arrived.
  EXPECT_EQ(proxy.counts().cuts, 6);
}

TEST_F(ProxyTest, RefusesAndWelcomesAgain) {
  proxy.refuse();
  EXPECT_THROW(RedisClient{proxy.port()}, std::system_error);
  proxy.heal();
  EXPECT_EQ(RedisClient(proxy.port()).command(set).text, "OK");
  server.kill();
  EXPECT_THROW(RedisClient(proxy.port()).command(get), std::exception);
}

TEST(EvilServerTest, LeavesTheRestToARealOne) {
  const RedisServer real;
  const EvilServer evil(to_scripts({"-LOADING slowly\r\n"}), &real);
  RedisClient client(evil.port());
  EXPECT_EQ(client.command(set).text, "OK");
  EXPECT_EQ(real.client().command(get).text, "value");
  EXPECT_EQ(client.attempt({"EVAL", "return 1", "0"}).text, "LOADING slowly");
  EXPECT_EQ(evil.commands("EVAL"), 1);
  EXPECT_EQ(evil.connections(), 1);
}

TEST(EvilServerTest, SendsMoreThanAnyoneReads) {
  const EvilServer evil([](const RedisCommand&) {
    return Say{"+" + std::string(1 << 16, 'A'), 4000};
  });
  EXPECT_THROW(RedisClient(evil.port()).command(get), std::exception);
}

TEST(EvilServerTest, EndsWhileSomebodyStillListens) {
  std::optional<EvilServer> evil(std::in_place, [](const RedisCommand&) { return Say{}; });
  RedisClient client(evil->port());
  auto reply = std::async(std::launch::async, [&] { return client.command(get); });
  EXPECT_TRUE(eventually([&] { return evil->commands("GET") == 1; }));
  evil.reset();
  EXPECT_THROW(reply.get(), std::exception);
}

}  // namespace
}  // namespace holdfast
