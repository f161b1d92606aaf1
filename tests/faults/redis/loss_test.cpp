// N14 of the fault catalogue: three of ten packets are lost, either way. It is slower, and nothing
// that is held gets lost.
#include "faults/redis/on_redis.hpp"
#include "support/lossy_network.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

TEST(RedisLoss, N14ThreePacketsOfTen) {
  const LossyNetwork network;
  if (!network.usable()) GTEST_SKIP() << "no namespace that loses packets: " << network.why_not();
  const RedisServer server;
  const LockOptions options{.ttl = 3s};
  const StoreOptions slow{.release_deadline = patient};
  const Watched alice(server.url(), slow), bob(server.url(), slow);
  network.lose_three_of_ten();

  for (const Watched* each : {&alice, &bob}) {
    auto lease = each->take("n", options);
    ASSERT_TRUE(succeeded(lease));
    EXPECT_TRUE(each->renewed_again());
    EXPECT_TRUE(each->renewed_again());
    EXPECT_TRUE(lease->valid());
    EXPECT_TRUE(succeeded(lease->release()));
  }
  EXPECT_EQ(alice.store.stats().lost + bob.store.stats().lost, 0U);
  EXPECT_GT(network.lost(), 0);
}

}  // namespace
}  // namespace holdfast
