// Goal: the etcd servers that other tests rely on do what they say.

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "support/etcd/cluster.hpp"
#include "support/etcd/sites.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

std::string value_at(const EtcdServer& server) {
  auto text = server.ctl({"get", "key", "--print-value-only"});
  std::erase(text, '\n');
  return text;
}

void put(const EtcdServer& server, const std::string& value) { server.ctl({"put", "key", value}); }

// "lease 694d… granted with TTL(60s)"
std::string granted(const EtcdServer& server, const std::string& seconds) {
  const auto text = server.ctl({"lease", "grant", seconds});
  const auto begin = text.find(' ') + 1;
  EXPECT_NE(text.find("TTL(" + seconds + "s)"), std::string::npos) << text;
  return text.substr(begin, text.find(' ', begin) - begin);
}

class EtcdServerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<EtcdServer>(); }
  static void TearDownTestSuite() { server_.reset(); }
  EtcdServerTest() {
    if (!server.running()) server.start();
  }

  EtcdServer& server = *server_;

 private:
  static inline std::unique_ptr<EtcdServer> server_;
};

TEST_F(EtcdServerTest, KeepsItsDataUntilItIsCleared) {
  put(server, "value");
  const auto lease = granted(server, "60");
  server.ctl({"put", "leased", "value", "--lease=" + lease});
  const auto before = server.status();
  server.restart();
  EXPECT_EQ(value_at(server), "value");
  EXPECT_EQ(server.status().revision, before.revision);
  EXPECT_GT(server.status().term, before.term);
  server.clear();
  EXPECT_EQ(server.ctl({"get", "", "--from-key"}), "");
  EXPECT_NE(server.ctl({"lease", "list"}).find("found 0 leases"), std::string::npos);
}

// It may grant a longer lease than it was asked for: at least one and a half election timeouts.
TEST_F(EtcdServerTest, GrantsTheShortestLeaseOfATest) { EXPECT_NE(granted(server, "6"), ""); }

TEST_F(EtcdServerTest, StandsStillAndGoesOn) {
  server.stop();
  auto answer = std::async(std::launch::async, [&] { put(server, "value"); });
  EXPECT_EQ(answer.wait_for(50ms), std::future_status::timeout);
  server.resume();
  answer.get();
  EXPECT_EQ(value_at(server), "value");
  server.kill();
  EXPECT_FALSE(server.serves());
}

TEST_F(EtcdServerTest, TellsWhyItDoesNotStart) {
  try {
    const EtcdServer misled({.arguments = {"--no-such-option"}});
    ADD_FAILURE() << "it started";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-option"), std::string::npos) << error.what();
  }
}

// A client without user, password and certificate.
bool welcomes(const EtcdServer& server, const std::string& scheme) {
  return Process({"sh", "-c", R"(exec etcdctl "$@" 2>&1)", "sh", "--command-timeout=1s",
                  "--endpoints=" + scheme + server.address(), "--cacert=" + authority().file(),
                  "get", "key"},
                 {"ETCDCTL_API=3"})
             .wait() == 0;
}

TEST(EtcdLockedServerTest, AsksForAPassword) {
  const EtcdServer server({.password = "sesame"});
  put(server, "value");
  EXPECT_EQ(value_at(server), "value");
  EXPECT_FALSE(welcomes(server, "http://"));
}

TEST(EtcdLockedServerTest, SpeaksTls) {
  const EtcdServer server({.tls = authority().issue(loopback_names), .client_certificate = true});
  put(server, "value");
  EXPECT_EQ(value_at(server), "value");
  EXPECT_FALSE(welcomes(server, "https://"));
}

TEST(EtcdClusterTest, FindsAnotherLeader) {
  EtcdCluster cluster;
  auto& first = cluster.leader();
  put(first, "value");
  first.kill();
  cluster.await_agreement();
  auto& second = cluster.leader();
  EXPECT_NE(&first, &second);
  EXPECT_EQ(value_at(second), "value");
  first.start();
  cluster.restart();
  EXPECT_EQ(value_at(cluster.follower()), "value");
}

TEST(EtcdClusterTest, AMemberThatIsCutOffStillAnswersOldReads) {
  EtcdCluster cluster({}, Links::proxied);
  put(cluster.leader(), "old");
  for (auto* node : {&cluster.follower(), &cluster.leader()}) {
    put(cluster.leader(), "old");
    EXPECT_TRUE(eventually([&] {
      return node->ctl({"get", "key", "--consistency=s"}) == "key\nold\n";
    }));
    cluster.cut(*node);
    EXPECT_TRUE(eventually([&] { return !node->serves(); }));
    EXPECT_TRUE(eventually([&] { return cluster.leader().serves(); }));
    EXPECT_NE(&cluster.leader(), node);
    put(cluster.leader(), "new");
    EXPECT_EQ(node->ctl({"get", "key", "--consistency=s"}), "key\nold\n");
    cluster.heal();
    cluster.await_agreement();
    EXPECT_EQ(value_at(*node), "new");
  }
}

std::unique_ptr<Process> keep_alive(const EtcdServer& server, const std::string& lease) {
  return std::make_unique<Process>(
      std::vector<std::string>{"etcdctl", "--endpoints=" + server.address(), "lease", "keep-alive",
                               lease},
      std::vector<std::string>{"ETCDCTL_API=3"});
}

TEST(EtcdClusterTest, AStalledLeaderAnswersKeepAlivesOfALeaseThatHasGone) {
  EtcdCluster cluster;
  auto& stalled = cluster.leader();
  const auto lease = granted(stalled, "60");
  const auto kept = "lease " + lease + " keepalived with TTL(60)";
  stalled.ctl({"put", "leased", "value", "--lease=" + lease});
  const auto keeper = keep_alive(stalled, lease);
  EXPECT_EQ(keeper->read(), kept);
  stalled.stall_disk();
  EXPECT_THROW(stalled.ctl({"put", "key", "value", "--command-timeout=1s"}), std::exception);
  ASSERT_TRUE(eventually([&] { return &cluster.leader() != &stalled; }));
  cluster.leader().ctl({"lease", "revoke", lease});
  EXPECT_TRUE(cluster.leader().ctl({"get", "leased"}).empty());
  const auto once = [&] { return stalled.ctl({"lease", "keep-alive", "--once", lease}); };
  EXPECT_EQ(once(), kept + '\n');
  stalled.resume_disk();
  cluster.await_agreement();
  EXPECT_THROW(once(), std::exception);  // No such lease.
}

TEST(EtcdSitesTest, AreClearedAndRestarted) {
  for (auto* site : {single_etcd, tls_etcd, cluster_etcd}) {
    const auto lent = site();
    EXPECT_NO_THROW(lent->restart());
    EXPECT_NO_THROW(lent->clear());
  }
}

}  // namespace
}  // namespace holdfast
