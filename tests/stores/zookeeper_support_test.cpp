// Goal: the ZooKeeper servers that other tests rely on, and the client that inspects them, do what
// they say.

#include <gtest/gtest.h>

#include <future>

#include "support/zookeeper/ensemble.hpp"
#include "support/zookeeper/sites.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;
using Mode = ZooKeeperClient::Mode;

constexpr std::int32_t no_node = -101, bad_version = -103, exists_already = -110;

template <class Call>
std::int32_t refusal(const Call& call) {
  try {
    call();
    return 0;
  } catch (const ZooKeeperError& error) {
    return error.code;
  }
}

class ZooKeeperClientTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<ZooKeeperServer>(); }
  static void TearDownTestSuite() { server_.reset(); }

  const ZooKeeperServer& server = *server_;

 private:
  static inline std::unique_ptr<ZooKeeperServer> server_;
};

TEST_F(ZooKeeperClientTest, WritesAndReads) {
  auto zookeeper = server.client();
  EXPECT_EQ(zookeeper.create("/a", "one"), "/a");
  EXPECT_EQ(refusal([&] { zookeeper.create("/a"); }), exists_already);
  EXPECT_EQ(zookeeper.get("/a"), "one");
  zookeeper.set("/a", "two", 0);
  EXPECT_EQ(refusal([&] { zookeeper.set("/a", "three", 0); }), bad_version);
  EXPECT_EQ(zookeeper.get("/a"), "two");
  const auto first = zookeeper.create("/a/b-", "", Mode::ephemeral_sequential);
  const auto second = zookeeper.create("/a/b-", "", Mode::ephemeral_sequential);
  EXPECT_EQ(zookeeper.children("/a"), std::vector({first.substr(first.rfind('/') + 1),
                                                   second.substr(second.rfind('/') + 1)}));
  const auto stat = zookeeper.exists(second).value();
  EXPECT_EQ(stat.ephemeral_owner, zookeeper.session());
  EXPECT_GT(stat.czxid, zookeeper.exists(first)->czxid);
  EXPECT_EQ(zookeeper.exists("/a")->children, 2);
  EXPECT_EQ(zookeeper.children("/nothing"), std::vector<std::string>());
  zookeeper.remove(first);
  zookeeper.sync();
  EXPECT_EQ(zookeeper.exists(first), std::nullopt);
  EXPECT_EQ(refusal([&] { zookeeper.get(first); }), no_node);
}

TEST_F(ZooKeeperClientTest, TakesItsSessionAlong) {
  server.client().create("/gone", "", Mode::ephemeral);
  EXPECT_EQ(server.client().exists("/gone"), std::nullopt);
}

TEST_F(ZooKeeperClientTest, EndsTheSessionOfAnother) {
  auto victim = server.client();
  victim.create("/held", "", Mode::ephemeral);
  auto other = server.client();
  const auto owner = other.exists("/held").value().ephemeral_owner;
  end_session(server.port(), owner);
  EXPECT_EQ(other.exists("/held"), std::nullopt);
  EXPECT_THROW(victim.exists("/held"), std::exception);
  EXPECT_NO_THROW(end_session(server.port(), owner)) << "to end it twice is no harm";
}

class ZooKeeperServerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<ZooKeeperServer>(); }
  static void TearDownTestSuite() { server_.reset(); }
  ZooKeeperServerTest() {
    if (!server.running()) server.start();
  }

  ZooKeeperServer& server = *server_;

 private:
  static inline std::unique_ptr<ZooKeeperServer> server_;
};

TEST_F(ZooKeeperServerTest, KeepsItsData) {
  server.client().create("/kept", "value");
  server.restart();
  EXPECT_EQ(server.client().get("/kept"), "value");
}

TEST_F(ZooKeeperServerTest, TellsWhyItDoesNotStart) {
  try {
    const ZooKeeperServer misled({.config = {"tickTime=never"}});
    ADD_FAILURE() << "it started";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("never"), std::string::npos) << error.what();
  }
}

TEST_F(ZooKeeperServerTest, CountsWhatItGets) {
  EXPECT_EQ(server.monitor("server_state"), "standalone");
  EXPECT_EQ(server.monitor("no_such_line"), "");
  auto zookeeper = server.client();
  const auto before = server.count("packets_received");
  for (int round = 0; round < 10; ++round) zookeeper.exists("/nothing");
  EXPECT_GE(server.count("packets_received"), before + 10);
  EXPECT_TRUE(server.watchers().empty());
  zookeeper.exists("/nothing", true);
  EXPECT_EQ(server.watchers()["/nothing"], std::set{zookeeper.session()});
  EXPECT_EQ(server.count("watch_count"), 1);
  const auto created = server.count("sum_node_created_watch_count");
  const auto deleted = server.count("sum_node_deleted_watch_count");
  zookeeper.create("/nothing");
  zookeeper.remove("/nothing");
  EXPECT_EQ(server.count("sum_node_created_watch_count"), created + 1);
  EXPECT_EQ(server.count("sum_node_deleted_watch_count"), deleted);
  EXPECT_TRUE(server.watchers().empty());
}

TEST_F(ZooKeeperServerTest, RemovesEmptyContainers) {
  auto zookeeper = server.client();
  zookeeper.create("/container", "", Mode::container);
  zookeeper.create("/container/child");
  zookeeper.remove("/container/child");
  EXPECT_TRUE(eventually([&] { return !zookeeper.exists("/container"); }));
}

TEST_F(ZooKeeperServerTest, StandsStillAndGoesOn) {
  server.stop();
  auto answer = std::async(std::launch::async, [&] { return server.four_letter("ruok"); });
  EXPECT_EQ(answer.wait_for(50ms), std::future_status::timeout);
  server.resume();
  EXPECT_EQ(answer.get(), "imok");
  server.kill();
  EXPECT_FALSE(server.serves());
  EXPECT_THROW(server.client(), std::exception);
}

class ZooKeeperEnsembleTest : public testing::Test {
 protected:
  // A server that is cut off gives up after 5 s, and two cases wait for that. A shorter time would
  // not do, because a machine may stand still for a while.
  static void SetUpTestSuite() {
    ensemble_ = std::make_unique<ZooKeeperEnsemble>(ZooKeeperOptions{}, Links::proxied);
  }
  static void TearDownTestSuite() { ensemble_.reset(); }
  ZooKeeperEnsembleTest() {  // Mends what a failed case has left.
    ensemble.heal();
    ensemble.await_agreement();
  }

  ZooKeeperEnsemble& ensemble = *ensemble_;

 private:
  static inline std::unique_ptr<ZooKeeperEnsemble> ensemble_;
};

TEST_F(ZooKeeperEnsembleTest, FindsAnotherLeader) {
  auto& first = ensemble.leader();
  first.client().create("/kept", "value");
  first.kill();
  auto& second = ensemble.leader();
  EXPECT_NE(&first, &second);
  EXPECT_EQ(second.client().get("/kept"), "value");
  first.start();
  EXPECT_EQ(first.monitor("server_state"), "follower");
  ensemble.restart();
  EXPECT_EQ(ensemble.follower().client().get("/kept"), "value");
}

TEST_F(ZooKeeperEnsembleTest, AFollowerThatIsCutOffStillAnswersReads) {
  auto& leader = ensemble.leader();
  auto& follower = ensemble.follower();
  leader.client().create("/known", "old");
  auto reader = follower.client();
  reader.sync();
  ensemble.cut(follower);
  leader.client().set("/known", "new");  // The majority goes on.
  EXPECT_EQ(reader.get("/known"), "old");
  EXPECT_THROW(reader.sync(), std::exception);  // It waits for its leader, then it gives up.
  EXPECT_FALSE(follower.serves());
  ensemble.heal();
  ensemble.await_agreement();
  EXPECT_EQ(follower.client().get("/known"), "new");
}

TEST_F(ZooKeeperEnsembleTest, ALeaderThatIsCutOffIsReplaced) {
  auto& first = ensemble.leader();
  ensemble.cut(first);
  EXPECT_TRUE(eventually([&] { return !first.serves(); }));
  ZooKeeperServer* second = nullptr;
  ASSERT_TRUE(eventually([&] { return (second = &ensemble.leader()) != &first; }));
  second->client().create("/made", "without it");
  ensemble.heal();
  ensemble.await_agreement();
  auto zookeeper = first.client();
  zookeeper.sync();
  EXPECT_EQ(zookeeper.get("/made"), "without it");
}

TEST(ZooKeeperSitesTest, GiveEveryTestAFolder) {
  for (auto* site : {single_zookeeper, ensemble_zookeeper}) {
    const auto lent = site();
    const auto first = lent->url();
    lent->clear();
    EXPECT_NE(lent->url(), first);
  }
}

}  // namespace
}  // namespace holdfast
