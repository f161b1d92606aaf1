// Goal: `init` of a Redis store marks a server for the amnesia guard only when it is asked to, and
// only where nothing points to a holder.
// Method: real servers, whose marker is read from outside; directly against the backend.
#include <gtest/gtest.h>

#include "stores/redis_client.hpp"
#include "support/eventually.hpp"
#include "support/redis/cluster.hpp"
#include "support/redis/server.hpp"

namespace holdfast {
namespace {

using namespace testing_support;
using support::eventually;
using support::RedisServer;

constexpr auto guarded = "?guard=on&guard_ttl=60s";

bool is_marked(const RedisServer& server) {
  return server.client().command({"EXISTS", "hf:guard"}).integer == 1;
}

// Waits until the server has seen the end of all connections but the one that looks.
void await_silence(const RedisServer& server) {
  auto looking = server.client();
  ASSERT_TRUE(eventually([&] { return looking.info("clients", "connected_clients") == "1"; }));
}

TEST(RedisInit, MarksANewServerSoThatItsFirstUseNeedNotWait) {
  const RedisServer unmarked, marked;
  RedisStoreClient unprepared(unmarked.url() + guarded), prepared(marked.url() + guarded);
  EXPECT_EQ(unprepared.ask("n", fresh_claim()).problem.reason, "quarantine");
  EXPECT_EQ(prepared.init(Init::as_new).said, Said::yes);
  EXPECT_EQ(prepared.init(Init::as_new).said, Said::yes);
  EXPECT_EQ(prepared.ask("n", fresh_claim()).said, Said::yes);
}

TEST(RedisInit, MarksNothingUnlessToldThatTheServerIsNew) {
  const RedisServer server;
  RedisStoreClient client(server.url() + guarded);
  EXPECT_EQ(client.init().said, Said::yes);
  EXPECT_FALSE(is_marked(server));
  EXPECT_EQ(client.ask("n", fresh_claim()).problem.reason, "quarantine");
}

TEST(RedisInit, DoesNotEndAQuarantine) {
  RedisServer server;
  RedisStoreClient client(server.url() + guarded);
  ASSERT_EQ(client.init(Init::as_new).said, Said::yes);
  server.client().command({"FLUSHALL"});
  ASSERT_EQ(client.ask("n", fresh_claim()).problem.reason, "quarantine");
  const Answer told = client.init(Init::as_new);
  EXPECT_EQ(told.said, Said::no);
  EXPECT_EQ(told.problem.reason, "quarantine");
  EXPECT_EQ(client.ask("n", fresh_claim()).problem.reason, "quarantine");
}

TEST(RedisInit, AMarkerOfAFormerRunIsNotOfANewServer) {
  RedisServer server({.appendfsync = "always"});
  {
    RedisStoreClient client(server.url() + guarded);
    ASSERT_EQ(client.init(Init::as_new).said, Said::yes);
  }
  server.restart();
  RedisStoreClient client(server.url() + guarded);
  EXPECT_EQ(client.init(Init::as_new).problem.reason, "quarantine");
}

TEST(RedisInit, MarksEverySlotOfACluster) {
  support::RedisCluster cluster;
  RedisStoreClient client(cluster.url() + guarded);
  ASSERT_EQ(client.init(Init::as_new).said, Said::yes);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(client.ask(std::to_string(i), fresh_claim()).said, Said::yes);
}

TEST(RedisInit, WithoutAGuardThereIsNothingToMark) {
  RedisServer server;
  RedisStoreClient client(server.url());
  EXPECT_EQ(client.init(Init::as_new).said, Said::yes);
  EXPECT_EQ(server.client().command({"DBSIZE"}).integer, 0);
}

// The other client may use no guard, or only listen while nothing is held.
TEST(RedisInit, IsRefusedWhileAnotherIsConnected) {
  const RedisServer server;
  RedisStoreClient client(server.url() + guarded);
  {
    RedisStoreClient other(server.url());
    ASSERT_TRUE(other.list().holders.empty());
    const Answer refused = client.init(Init::as_new);
    EXPECT_EQ(refused.said, Said::no);
    EXPECT_EQ(refused.problem.errc, Errc::busy);
    EXPECT_EQ(refused.problem.reason, "in_use");
    EXPECT_NE(refused.problem.text.find("not connected cannot be seen"), std::string::npos);
    EXPECT_FALSE(is_marked(server));
  }
  EXPECT_TRUE(eventually([&] { return client.init(Init::as_new).said == Said::yes; }));
  EXPECT_TRUE(is_marked(server));
}

// Its holder is not connected now.
TEST(RedisInit, IsRefusedWhileALockIsHeld) {
  const RedisServer server;
  const ClaimId hers = fresh_claim();
  RedisStoreClient alice(server.url()), client(server.url() + guarded);
  ASSERT_EQ(alice.ask("n", hers).said, Said::yes);
  alice.close();
  await_silence(server);
  const Answer refused = client.init(Init::as_new);
  EXPECT_EQ(refused.problem.reason, "in_use");
  EXPECT_NE(refused.problem.text.find("'n' is held by"), std::string::npos) << refused.problem.text;
  EXPECT_FALSE(is_marked(server));
  EXPECT_EQ(client.release("n", hers).said, Said::yes);
  EXPECT_EQ(client.init(Init::as_new).said, Said::yes);  // a released lock is no lock
}

TEST(RedisInit, NamesTheRightThatItLacks) {
  const RedisServer server({.users = {"locks on >secret ~hf:* &hf:* +@all -client|list"}});
  const std::string url = "redis://locks:secret@" + server.address() + guarded;
  RedisStoreClient client(url);
  Answer refused = client.init(Init::as_new);
  EXPECT_EQ(refused.problem.errc, Errc::denied);
  EXPECT_NE(refused.problem.text.find("+client|list"), std::string::npos) << refused.problem.text;
  client.close();
  server.client().command({"ACL", "SETUSER", "locks", "+client|list", "-client|setname"});
  RedisStoreClient nameless(url);
  refused = nameless.init(Init::as_new);
  EXPECT_EQ(refused.problem.errc, Errc::denied);
  EXPECT_NE(refused.problem.text.find("+client|setname"), std::string::npos)
      << refused.problem.text;
  EXPECT_FALSE(is_marked(server));
}

}  // namespace
}  // namespace holdfast
