// B17 of docs/faults.md: keys of ours that hold what we never wrote. Nobody gets such a lock,
// nothing in it changes, and a reader gets an error or sees nothing.

#include "cli/cli.hpp"
#include "stores/redis/keys.hpp"
#include "support/redis/server.hpp"
#include "support/results.hpp"

namespace holdfast::cli_test {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisHostileData : public Cli {
 protected:
  int holdfast_on_redis(const Words& arguments) const {
    auto planned = plan(arguments);
    planned.environment["HOLDFAST_STORE"] = server.url();
    return Running(planned).wait().code;
  }
  std::string dump() { return redis.command({"DUMP", key}).text; }
  // The state of a held lock, as the server keeps it.
  std::string held_state() {
    const auto lease = alice.lock(name).try_acquire();
    return redis.command({"HGET", key, "s"}).text;
  }
  void put(const std::string& state) {
    redis.command({"DEL", key});
    redis.command({"HSET", key, "s", state});
  }

  const std::string name = "x";
  const std::string key = stores::redis::lock_key(name);
  RedisServer server;
  RedisClient redis = server.client();
  const Store alice = open(server.url()).value();
};

TEST_F(RedisHostileData, B17SomethingElseIsBusyAndLeftAlone) {
  const std::vector<RedisCommand> foreign = {
      {"SET", key, R"({"owner": "me", "version": -1)"},
      {"SET", key, std::string(10 << 20, 'o')},
      {"HSET", key, "owner", "me"},
      {"HSET", key, "s", ""},
      {"HSET", key, "s", "h"},
      {"HSET", key, "s", R"({"owner": "me"})"},
      {"HSET", key, "s", std::string(32, '\xff')},
      {"HSET", key, "s", std::string(10 << 20, 'o')},
      {"RPUSH", key, "a"},
      {"XADD", key, "*", "a", "b"},
  };
  for (const auto& command : foreign) {
    SCOPED_TRACE(command[0] + " " + command[2].substr(0, 20));
    redis.command({"DEL", key});
    redis.command(command);
    const auto before = dump();
    const auto lease = alice.lock(name).try_acquire();
    ASSERT_TRUE(failed(lease, Errc::busy));
    EXPECT_EQ(lease.error().reason(), "foreign");
    EXPECT_TRUE(failed(alice.lock(name).try_acquire_for(50ms), Errc::busy));
    EXPECT_EQ(holdfast_on_redis({"run", "--no-wait", name, "--", "true"}), 75);
    EXPECT_EQ(holdfast_on_redis({"show", name}), 0);
    EXPECT_EQ(holdfast_on_redis({"ls", "--json"}), 0);
    EXPECT_EQ(dump(), before);
  }
}

TEST_F(RedisHostileData, B17NewerLayoutIsLeftAlone) {
  auto state = held_state();
  state[1] = 2;
  put(state);
  const auto before = dump();
  const auto lease = alice.lock(name).try_acquire();
  ASSERT_TRUE(failed(lease, Errc::busy));
  EXPECT_EQ(lease.error().reason(), "foreign");
  EXPECT_NE(lease.error().message().find("newer version"), std::string::npos);
  EXPECT_EQ(holdfast_on_redis({"run", "--no-wait", name, "--", "true"}), 75);
  EXPECT_EQ(holdfast_on_redis({"show", name}), 0);
  EXPECT_EQ(dump(), before);
}

// A holder whose card is 10 MB: as busy as any other.
TEST_F(RedisHostileData, B17HolderOfTenMegabytes) {
  put(held_state() + std::string(10 << 20, '\x1b'));
  EXPECT_TRUE(failed(alice.lock(name).try_acquire(), Errc::busy));
  EXPECT_EQ(holdfast_on_redis({"run", "--no-wait", name, "--", "true"}), 75);
  EXPECT_EQ(holdfast_on_redis({"show", name}), 0);
  EXPECT_EQ(holdfast_on_redis({"ls", "--json"}), 0);
}

// Cut anywhere, or with any byte flipped: no crash, and only errors that tell of it. Nothing frees
// the lock, except a flipped byte in the lease's end, which may say that it is over.
TEST_F(RedisHostileData, B17DamagedState) {
  const auto state = held_state();
  constexpr std::size_t end = 40, claim = 48, after_claim = 64;  // scripts/line.lua
  const auto its_claim = state.substr(claim, after_claim - claim);
  const auto holder_is_there = [&] {
    return redis.command({"HGET", key, "s"}).text.find(its_claim) != std::string::npos;
  };
  const auto told = [](const auto& error) {
    return error.errc() == Errc::busy || error.errc() == Errc::corrupt ||
           error.reason() == "server_error" || error.reason() == "protocol" ||
           error.reason() == "kind";
  };
  const auto take = [&] {
    const bool was_there = holder_is_there();
    const auto lease = alice.lock(name).try_acquire();
    if (lease) return true;
    EXPECT_TRUE(told(lease.error())) << lease.error().what();
    EXPECT_EQ(holder_is_there(), was_there);
    const auto holders = alice.list();
    if (!holders) {
      EXPECT_TRUE(told(holders.error())) << holders.error().what();
      return false;
    }
    for (const Holder& holder : *holders) EXPECT_EQ(holder.name, name);
    return false;
  };
  for (std::size_t size = 0; size < state.size(); ++size) {
    SCOPED_TRACE(size);
    put(state.substr(0, size));
    EXPECT_FALSE(take());
  }
  for (std::size_t at = 0; at < state.size(); ++at) {
    SCOPED_TRACE(at);
    auto turned = state;
    turned[at] = static_cast<char>(~turned[at]);
    put(turned);
    EXPECT_TRUE(!take() || (end <= at && at < claim));
  }
  redis.command({"DEL", key});
  EXPECT_TRUE(succeeded(alice.lock(name).try_acquire()));
}

}  // namespace
}  // namespace holdfast::cli_test
