// N14 of docs/faults.md: three of ten packets are lost, in each direction. Everything is slower,
// and nothing that is held gets lost.
#include <string>
#include <thread>
#include <vector>

#include "faults/redis/behind_proxy.hpp"
#include "faults/redis/on_redis.hpp"
#include "support/lossy_network.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

// In real time, because TCP takes its time to send again what was lost.
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

// Hedging: a late request is sent once more, on another connection, and the first one stays silent.
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

// Whichever copy is answered first, the other one finds nothing, because the first did it.
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

// Many releases at once, at a slow server: a request whose turn has not come is not late.
class RedisBacklog : public OnRedis {
 protected:
  RedisServer server{{.config = {"enable-debug-command local"}}};
  RedisClient redis = server.client();
};

TEST_F(RedisBacklog, N14EachOfManyReleasesTravelsOnce) {
  const int many = scaled(8'000);
  const Store alice = open(server.url()).value();
  std::vector<Lease> leases;
  for (int each = 0; each < many; ++each) {
    auto lease = alice.lock("n" + std::to_string(each), long_lived).acquire();
    ASSERT_TRUE(succeeded(lease));
    leases.push_back(std::move(*lease));
  }
  redis.command({"CONFIG", "RESETSTAT"});
  {
    // The server stalls between the pieces of what it has read.
    const std::jthread busy([&](const std::stop_token& stop) {
      auto other = server.client();
      while (!stop.stop_requested()) other.command({"DEBUG", "SLEEP", "0.03"});
    });
    EXPECT_TRUE(succeeded(alice.close(patient)));
  }
  // On a machine that stood still, some may have met their deadline.
  EXPECT_LE(redis.calls()["evalsha"], many + many / 10);
  for (const auto& each : redis.command({"KEYS", "hf:*"}).items)
    EXPECT_EQ(redis.command({"HGET", each.text, "s"}).text.at(2), 0) << each.text;
}

}  // namespace
}  // namespace holdfast
