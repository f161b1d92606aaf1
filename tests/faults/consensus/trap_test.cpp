// The trap of ZooKeeper: a follower that is cut off from its leader goes on answering pings and
// reads long after the others have ended the sessions of its clients. (The trap of etcd, a leader
// whose disk stalls, is in tests/stores/etcd_faults_test.cpp.)
#include <optional>

#include "faults/watched.hpp"
#include "support/zookeeper/ensemble.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

TEST(ZooKeeperTrapClock, AFollowerThatIsCutOffProvesNothing) {
  ZooKeeperEnsemble ensemble({.sync_limit = 100}, Links::proxied);
  ZooKeeperServer& leader = ensemble.leader();
  ZooKeeperServer& follower = ensemble.follower();
  const std::string options = "?session=9s&tick=200ms";
  const Watched alice(follower.url() + options);
  const Store bob = open(leader.url() + options).value();
  // The doubt, the loss and the end are seconds apart, so that a slow machine sees all three.
  const auto lease = alice.take("name", {.margin = 2500ms});
  ASSERT_TRUE(succeeded(lease));
  auto reader = follower.client();
  reader.sync();
  const std::string folder = "/holdfast/1/locks/name";
  ASSERT_EQ(reader.children(folder).size(), 1U);

  ensemble.cut(follower);
  const auto next = bob.lock("name").acquire();
  EXPECT_FALSE(lease->valid()) << "two valid leases";
  ASSERT_TRUE(succeeded(next));
  EXPECT_TRUE(next->valid());
  EXPECT_TRUE(lease->lost().stop_requested());
  EXPECT_GT(next->token(), lease->token());
  EXPECT_GT(alice.count("name", Event::Kind::at_risk), 0);
  EXPECT_EQ(reader.children(folder).size(), 1U) << "it was no trap: that server knew of the loss";
  ensemble.heal();  // Otherwise its clients could not end.
}

}  // namespace
}  // namespace holdfast
