// Servers that end connections or let them wait (S15, S17), and a machine that can make no more of
// them (R10).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

#include "faults/redis/on_redis.hpp"
#include "stores/redis/keys.hpp"
#include "support/files.hpp"
#include "support/lossy_network.hpp"
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

// Kills both kinds of connection in turn, while the lease is renewed again and again.
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
  EXPECT_LE(open_descriptors(), descriptors + own_status("Threads"));  // each may have made a Bell
  // One loop renews it: three times in a ttl, and not once for each connection that there was.
  const auto before = alice.store.stats().renewals;
  for (int third = 0; third < 3; ++third) EXPECT_TRUE(renews_when_due(alice.store));
  EXPECT_LE(alice.store.stats().renewals - before, 5U);
  EXPECT_TRUE(succeeded(lease->release()));
  waiter.join();
  EXPECT_TRUE(succeeded(*next));
  EXPECT_EQ(holding(alice.store, name), 1);
}

// The server may still do what was asked, so the store goes on withdrawing it for up to a ttl.
TEST_F(RedisConnections, S17AStoreThatIsGoneLeavesNoThread) {
  EXPECT_TRUE(succeeded(take_at_once(open(server.url()).value(), name)));  // starts lasting threads
  const auto threads = own_status("Threads");
  {
    const Store alice = open(server.url()).value();
    ASSERT_TRUE(succeeded(alice.lock("to/connect").acquire()));
    server.stop();
    EXPECT_TRUE(failed(alice.lock(name).try_acquire_for(2s), Errc::unavailable));
    EXPECT_EQ(alice.stats().debts, 1U);
  }
  jump(past_ttl);
  EXPECT_TRUE(eventually([&] { return own_status("Threads") <= threads; }));
  server.resume();
}

// A way to connect. With a database, a password or TLS the server must answer something before it
// can be asked for a lock.
struct Way {
  const char* name;
  RedisOptions (*options)();
  std::string (*url)(const RedisServer& server);
  const char* database = "0";
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class RedisStandstill : public OnRedis, public testing::WithParamInterface<Way> {
 protected:
  static constexpr Millis frozen = 2 * held_long;

  RedisStandstill() { redis.command({"SELECT", GetParam().database}); }
  std::string url() const { return GetParam().url(server); }
  // Nobody has the lock, according to the server's state (src/stores/redis/scripts/line.lua): a
  // number alone, or a list with nothing taken.
  bool free_at_server(const std::string& of) {
    const auto state = redis.command({"HGET", stores::redis::lock_key(of), "s"}).text;
    return state.size() < 36 || state[2] == 0 ||
           (state[2] == 2 && state.substr(32, 4) == std::string(4, '\0'));
  }
  // The server does what was asked meanwhile only when nobody wants it any more.
  void nothing_stays(Millis wait, const std::function<void()>& freeze,
                     const std::function<void()>& thaw) {
    const Watched alice(url()), bob(url());
    ASSERT_TRUE(succeeded(bob.take("to/connect", {})));
    auto lease = alice.take(name, long_lived);
    ASSERT_TRUE(succeeded(lease));
    const auto lost = lease->lost();
    freeze();
    const auto ask = [&](const char* of) {
      return bob.store.lock(of, long_lived).try_acquire_for(wait);
    };
    auto wanted = std::async(std::launch::async, ask, "wanted");
    EXPECT_TRUE(failed(ask("unwanted"), Errc::unavailable));
    EXPECT_TRUE(failed(wanted.get(), Errc::unavailable));
    const auto renewals = alice.store.stats().renewals;
    jump(frozen / 4);
    EXPECT_TRUE(eventually([&] { return alice.store.stats().renewals > renewals; }));
    jump(frozen - frozen / 4);
    EXPECT_EQ(alice.why_lost(name), "expired");
    EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
    EXPECT_FALSE(lease->valid());
    EXPECT_TRUE(failed(lease->release(), Errc::lost));

    clock.set_ahead(frozen + 1s);
    thaw();
    redis.command({"PING"});  // answered once the server goes on
    EXPECT_TRUE(succeeded(take_at_once(bob.store, "wanted"))) << "it waits for its own orphan";
    for (const Watched* each : {&alice, &bob})
      EXPECT_TRUE(eventually([&] { return each->store.stats().debts == 0; }));
    const Store carol = open(url()).value();
    for (const std::string each : {"wanted", "unwanted", name.c_str()}) {
      EXPECT_TRUE(free_at_server(each)) << each;
      EXPECT_TRUE(succeeded(carol.lock(each).try_acquire())) << each;
    }
  }

  SkewedClock clock;  // the server's
  RedisServer server{with_clock()};
  RedisClient redis = server.client();

 private:
  RedisOptions with_clock() const {
    auto options = GetParam().options();
    options.environment = clock.environment();
    return options;
  }
};

TEST_P(RedisStandstill, S17PausedForTwiceTheTtl) {
  // The connection must stay: for a closed one the server drops what it has put off.
  nothing_stays(
      800ms,
      [&] {
        redis.command({"CLIENT", "PAUSE", std::to_string(frozen.count()), "ALL"});
      },
      [] {});
}

TEST_P(RedisStandstill, S17StoppedForTwiceTheTtl) {
  // Longer than a silent connection is trusted. The server still reads all that came on it.
  nothing_stays(
      2s, [&] { server.stop(); }, [&] { server.resume(); });
}

const Way ways[] = {
    {"plain", [] { return RedisOptions{}; }, [](const RedisServer& at) { return at.url(); }},
    {"database", [] { return RedisOptions{}; },
     [](const RedisServer& at) { return at.url() + "/1"; }, "1"},
    {"password", [] { return RedisOptions{.password = "secret"}; },
     [](const RedisServer& at) { return "redis://:secret@" + at.address(); }},
    {"tls", [] { return RedisOptions{.tls = authority().issue(loopback_names)}; },
     [](const RedisServer& at) { return at.tls_url(); }},
    {"unix_socket", [] { return RedisOptions{.unix_socket = true}; },
     [](const RedisServer& at) { return at.unix_url(); }},
};
INSTANTIATE_TEST_SUITE_P(Urls, RedisStandstill, testing::ValuesIn(ways),
                         [](const auto& way) { return std::string(way.param.name); });

// All local ports for new connections are taken. Existing connections go on.
TEST(RedisPorts, R10UsedUpIsUnavailableUntilThereIsOne) {
  const LossyNetwork network;
  if (!network.usable()) GTEST_SKIP() << network.why_not();
  const RedisServer server;
  const Watched alice(server.url());
  auto lease = alice.take("held", {});
  ASSERT_TRUE(succeeded(lease));
  std::ofstream("/proc/sys/net/ipv4/ip_local_port_range") << "50000 50003";
  std::vector<Descriptor> taken;
  EXPECT_THROW(for (int each = 0; each < 5; ++each) taken.push_back(connect_to(server.port())),
               std::system_error);
  ASSERT_FALSE(taken.empty());

  const auto bob = open(server.url()).value();
  const auto refused = bob.lock("wanted").try_acquire();
  EXPECT_TRUE(failed(refused, Errc::unavailable));
  EXPECT_TRUE(says(refused, "address"));
  EXPECT_TRUE(renews_when_due(alice.store));
  std::jthread waiter([&] { EXPECT_TRUE(succeeded(bob.lock("wanted").acquire())); });
  const auto asks = bob.stats().asks;
  EXPECT_TRUE(eventually([&] { return bob.stats().asks > asks + 2; }));
  reset(taken.front());
  waiter.join();
  EXPECT_TRUE(lease->valid());
  EXPECT_EQ(alice.count("held", Event::Kind::lost), 0);
}

}  // namespace
}  // namespace holdfast
