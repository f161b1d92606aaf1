// Servers that end connections or let them wait (S15, S17).
#include <algorithm>
#include <filesystem>
#include <thread>

#include "faults/redis/on_redis.hpp"
#include "support/files.hpp"
#include "support/skewed_clock.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisConnections : public OnRedis {
 protected:
  SkewedClock clock;  // the server's
  RedisServer server{{.environment = clock.environment()}};
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

// Both kinds of connection, in turns, while it is renewed again and again.
TEST_F(RedisConnections, S15KilledAgainAndAgain) {
  const Watched alice(server.url()), bob(server.url(), {.patience = held_long});
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  std::optional<Result<Lease>> next;
  std::jthread waiter([&] { next.emplace(bob.take(name, {})); });
  ASSERT_TRUE(eventually([&] { return waiting(alice.store, name) == 1; }));
  const auto listens = [&] {
    return redis.command({"PUBSUB", "CHANNELS", "hf:to:*"}).items.size() == 1;
  };
  const auto sockets = open_sockets();
  const auto descriptors = open_descriptors();
  for (int kill = 0; kill < 50; ++kill) {
    redis.command({"CLIENT", "KILL", "TYPE", "normal"});
    ASSERT_TRUE(renews_when_due(alice.store));
    redis.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    ASSERT_TRUE(eventually(listens));
  }
  EXPECT_TRUE(lease->valid());
  EXPECT_EQ(alice.count(name, Event::Kind::lost), 0);
  EXPECT_TRUE(eventually([&] { return open_sockets() == sockets; })) << open_sockets();
  EXPECT_LE(open_descriptors(), descriptors + own_status("Threads"));  // each may have made a bell
  // One loop renews it: three times in a ttl, and not once for each connection that there was.
  const auto before = alice.store.stats().renewals;
  for (int third = 0; third < 3; ++third) EXPECT_TRUE(renews_when_due(alice.store));
  EXPECT_LE(alice.store.stats().renewals - before, 5U);
  EXPECT_TRUE(succeeded(lease->release()));
  waiter.join();
  EXPECT_TRUE(succeeded(*next));
  EXPECT_EQ(holding(alice.store, name), 1);
}

TEST_F(RedisConnections, S17PausedForTwiceTheTtl) {
  const Watched alice(server.url()), bob(server.url());
  ASSERT_TRUE(succeeded(bob.take("to/connect", {})));
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  constexpr Millis pause = 60s;
  redis.command({"CLIENT", "PAUSE", std::to_string(pause.count()), "ALL"});
  // What is asked for meanwhile is done by the server when nobody wants it any more.
  EXPECT_TRUE(
      failed(bob.store.lock("wanted", long_lived).try_acquire_for(800ms), Errc::unavailable));
  jump(past_ttl);
  EXPECT_EQ(alice.why_lost(name), "expired");
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  clock.set_ahead(pause + 1s);
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
