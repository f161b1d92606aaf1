// Servers that end connections or let them wait (S15, S17).
#include <algorithm>
#include <filesystem>
#include <thread>

#include "faults/redis/on_redis.hpp"
#include "support/files.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisConnections : public OnRedis {
 protected:
  RedisServer server;
  RedisClient redis = server.client();
};

long open_sockets() {
  return std::ranges::count_if(std::filesystem::directory_iterator("/proc/self/fd"),
                               [](const auto& entry) {
                                 std::error_code gone;
                                 const auto to = std::filesystem::read_symlink(entry.path(), gone);
                                 return to.native().starts_with("socket:");
                               });
}

// Both kinds of connection, twenty times a second, for five seconds.
TEST_F(RedisConnections, S15KilledAgainAndAgain) {
  const Watched alice(server.url()), bob(server.url());
  auto lease = alice.take(name, {.ttl = 3s});
  ASSERT_TRUE(succeeded(lease));
  std::optional<Result<Lease>> next;
  std::jthread waiter([&] { next.emplace(bob.take(name, {.ttl = 3s})); });
  ASSERT_TRUE(eventually([&] { return waiting(alice.store, name) == 1; }));
  const auto sockets = open_sockets();
  const auto descriptors = open_descriptors();
  for (int kill = 0; kill < 100; ++kill) {
    redis.command({"CLIENT", "KILL", "TYPE", kill % 2 == 0 ? "normal" : "pubsub"});
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_TRUE(alice.renewed_again());
  EXPECT_TRUE(lease->valid());
  EXPECT_EQ(alice.count(name, Event::Kind::lost), 0);
  EXPECT_TRUE(eventually([&] { return open_sockets() == sockets; })) << open_sockets();
  EXPECT_LE(open_descriptors(), descriptors + own_status("Threads"));  // each may have made a bell
  // One loop renews it: three times in a ttl, and not once for each connection that there was.
  const auto before = alice.store.stats().renewals;
  std::this_thread::sleep_for(3s);
  EXPECT_LE(alice.store.stats().renewals - before, 5U);
  EXPECT_TRUE(succeeded(lease->release()));
  waiter.join();
  EXPECT_TRUE(succeeded(*next));
  EXPECT_EQ(holding(alice.store, name), 1);
}

TEST_F(RedisConnections, S17PausedForTwiceTheTtl) {
  const Watched alice(server.url()), bob(server.url());
  ASSERT_TRUE(succeeded(bob.take("to/connect", {})));
  auto lease = alice.take(name, {.ttl = 1s});
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  redis.command({"CLIENT", "PAUSE", "2000", "ALL"});
  // What is asked for meanwhile is done by the server when nobody wants it any more.
  EXPECT_TRUE(
      failed(bob.store.lock("wanted", long_lived).try_acquire_for(800ms), Errc::unavailable));
  EXPECT_EQ(alice.why_lost(name), "expired");
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  redis.command({"PING"});  // answered when the pause is over
  EXPECT_TRUE(eventually([&] { return bob.store.stats().debts == 0; }));
  EXPECT_TRUE(eventually([&] { return alice.store.stats().debts == 0; }));
  EXPECT_TRUE(eventually_nothing_left(bob.store, "wanted"));
  EXPECT_TRUE(eventually_nothing_left(bob.store, name));
  EXPECT_TRUE(succeeded(take_at_once(alice.store, "wanted")));
  EXPECT_TRUE(succeeded(take_at_once(bob.store, name)));
}

}  // namespace
}  // namespace holdfast
