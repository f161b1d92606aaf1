// N14 of the fault catalogue: three of ten packets are lost, either way. It is slower, and nothing
// that is held gets lost.
#include <thread>

#include "faults/redis/behind_proxy.hpp"
#include "faults/redis/on_redis.hpp"
#include "support/lossy_network.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

// TCP takes its time to send again what was lost.
TEST(RedisLossClock, N14ThreePacketsOfTen) {
  const LossyNetwork network;
  if (!network.usable()) GTEST_SKIP() << "no namespace that loses packets: " << network.why_not();
  const RedisServer server;
  const LockOptions options{.ttl = 10s};
  const StoreOptions slow{.patience = 3 * patient, .release_deadline = patient};
  const Watched alice(server.url(), slow), bob(server.url(), slow);
  network.lose_three_of_ten();

  const auto hold = [&](const Watched& each, const std::string& name) {
    auto lease = each.take(name, options);
    ASSERT_TRUE(succeeded(lease));
    for (int renewals = 0; renewals < 3; ++renewals) EXPECT_TRUE(each.renewed_again());
    EXPECT_TRUE(lease->valid());
    EXPECT_TRUE(succeeded(lease->release()));
  };
  std::jthread other([&] { hold(bob, "m"); });  // in this network as well
  hold(alice, "n");
  other.join();
  EXPECT_EQ(alice.store.stats().lost + bob.store.stats().lost, 0U);
  EXPECT_GT(network.lost(), 0);
}

// What is late travels once more, on another connection; the first one says nothing any more.
class RedisLateAnswers : public BehindProxy {
 protected:
  void silence_first_connections() { proxy.hold_those("LOAD"); }  // they begin with the scripts
  void TearDown() override { proxy.heal(); }
};

TEST_F(RedisLateAnswers, N14RenewalsTravelOnceMore) {
  const Watched alice(url(), {.release_deadline = patient});
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  silence_first_connections();
  for (int renewals = 0; renewals < 3; ++renewals) EXPECT_TRUE(renews_when_due(alice.store));
  EXPECT_TRUE(lease->valid());
  EXPECT_EQ(alice.store.stats().lost, 0U);
  EXPECT_TRUE(succeeded(lease->release()));
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
}

// Whichever copy of it is answered first: the others found nothing, and that was its own doing.
TEST_F(RedisLateAnswers, N14ReleaseThatWasDoneTwice) {
  const auto alice = connected_client({.release_deadline = patient});
  auto lease = alice.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto connections = proxy.counts().connections;
  proxy.hold(Way::replies);
  std::jthread releases([&] { EXPECT_TRUE(succeeded(lease->release())); });
  EXPECT_TRUE(eventually([&] { return proxy.counts().connections > connections; }));
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
  proxy.heal();
}

// As long as answers come in time there is one connection.
TEST_F(RedisLateAnswers, N14InTimeThereIsOneConnection) {
  const Watched alice(url());
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  for (int renewals = 0; renewals < 3; ++renewals) EXPECT_TRUE(renews_when_due(alice.store));
  EXPECT_TRUE(succeeded(lease->release()));
  EXPECT_EQ(proxy.counts().connections, 1);
}

}  // namespace
}  // namespace holdfast
