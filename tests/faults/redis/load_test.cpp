// Many at once (L01, L02, L03, L05, L07, L09).
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "faults/redis/on_redis.hpp"
#include "support/detached.hpp"
#include "support/peer.hpp"
#include "support/skewed_clock.hpp"
#include "support/witness.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisLoad : public OnRedis {
 protected:
  SkewedClock clock;  // the server's
  RedisServer server{{.environment = clock.environment()}};
  RedisClient redis = server.client();
  const Store alice = open(server.url()).value();
};

struct Crowd {
  std::atomic<int> inside{0}, together{0}, served{0}, failed{0};
};
Detached wait_for(Lock lock, Crowd& crowd) {
  auto lease = co_await lock.acquire_async();
  if (!lease) {
    ++crowd.failed;
    co_return;
  }
  if (crowd.inside.fetch_add(1) != 0) ++crowd.together;
  crowd.inside.fetch_sub(1);
  ++crowd.served;
}

TEST_F(RedisLoad, L01TenThousandWaitersOfOneProcess) {
  const int many = scaled(10'000);
  Peer holder(server.url());
  holder.acquire(name);
  Crowd crowd;
  for (int each = 0; each < many; ++each) wait_for(alice.lock(name), crowd);
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  EXPECT_LE(own_status("Threads"), sanitized ? 9 : 8);
  EXPECT_LT(own_status("VmRSS"), (sanitized ? 2000 : 200) << 10);
  EXPECT_EQ(redis.command({"PUBSUB", "CHANNELS", "hf:to:*"}).items.size(), 1U);
  const auto before = alice.stats();
  ASSERT_EQ(holder.ask("release " + name), "released");
  EXPECT_TRUE(eventually([&] { return crowd.served + crowd.failed == many; }));
  EXPECT_EQ(crowd.served, many);
  EXPECT_EQ(crowd.together, 0);
  EXPECT_TRUE(nothing_left_but_marks(server, name));
  const auto after = alice.stats();
  EXPECT_LE(after.asks + after.drops - before.asks - before.drops,
            2U * static_cast<unsigned>(many));
}

TEST_F(RedisLoad, L02ManyCommandsOnOneLock) {
  const int many = sanitized ? 20 : 300;
  write("counter", "0\n");
  const std::string count = "n=$(cat " + path("counter") + "); echo $((n + 1)) >" + path("counter");
  std::vector<std::unique_ptr<cli_test::Running>> running;
  for (int each = 0; each < many; ++each)
    running.push_back(std::make_unique<cli_test::Running>(plan_on(
        server.url(), {"run", name, "--", "flock", "-n", path("oracle"), "sh", "-c", count})));
  for (const auto& each : running) {
    const auto outcome = each->wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
  EXPECT_EQ(read("counter"), std::to_string(many) + "\n");
}

// A hundred renewals travel in one request.
TEST_F(RedisLoad, L03TenThousandHeldLocksAreRenewedInAFewRequests) {
  const int many = scaled(10'000);
  std::atomic<int> taken{0};
  std::mutex mutex;
  std::vector<Lease> leases;
  const auto take = [&](Lock lock) -> Detached {
    auto lease = co_await lock.acquire_async();
    const std::lock_guard guard(mutex);
    if (lease) leases.push_back(std::move(*lease));
    ++taken;
  };
  for (int each = 0; each < many; ++each) take(alice.lock(name + std::to_string(each)));
  ASSERT_TRUE(eventually([&] { return taken == many; }));
  ASSERT_EQ(std::ssize(leases), many);
  redis.command({"CONFIG", "RESETSTAT"});
  jump(past_renewal);
  EXPECT_TRUE(eventually([&] {
    return std::ranges::all_of(leases, [](const Lease& each) { return each.left() > 20s; });
  }));
  EXPECT_LE(redis.calls()["evalsha"], 2 * many / 100);
  EXPECT_EQ(alice.stats().lost, 0U);
  EXPECT_LE(own_status("Threads"), sanitized ? 9 : 8);
  EXPECT_TRUE(succeeded(alice.close(patient)));
  EXPECT_TRUE(open(server.url())->list().value().empty());
}

class RedisLoadClock : public RedisLoad {};

// Kills some of them, again and again. A killed holder blocks the others for its ttl only.
TEST_F(RedisLoadClock, L05WaitersKilledAllTheTime) {
  constexpr std::size_t many = 6;
  const Witness witness(folder_.path());
  std::vector<std::unique_ptr<Peer>> peers;
  for (std::size_t each = 0; each < many; ++each) {
    peers.push_back(std::make_unique<Peer>(server.url()));
    peers.back()->send("visit " + name + " " + folder_.path().string() + " 1000000 ttl=6000");
  }
  ASSERT_TRUE(eventually([&] { return listed(alice, name).size() >= many - 1; }));
  for (int round = 0; round < 2; ++round) {
    const long before = witness.visits();
    for (int each = 0; each < 2; ++each) peers.pop_back();  // kill -9
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(eventually([&] { return witness.visits() > before + 10; }));
    EXPECT_LT(std::chrono::steady_clock::now() - start, sanitized ? 60s : 20s);
  }
  peers.clear();
  clock.set_ahead(past_ttl);  // Nobody is left who could be harmed by it.
  EXPECT_TRUE(witness.visit());
  EXPECT_TRUE(succeeded(alice.lock(name).acquire()));
  EXPECT_TRUE(nothing_left_but_marks(server, name));
}

TEST_F(RedisLoad, L07ManyTimesInARow) {
  const auto rounds = [&](int count) {
    for (int round = 0; round < count; ++round) {
      auto lease = alice.lock(name).acquire();
      ASSERT_TRUE(succeeded(lease));
      ASSERT_TRUE(succeeded(lease->release()));
    }
  };
  rounds(scaled(1'000));
  const auto descriptors = open_descriptors();
  const auto memory = own_status("VmRSS");
  const auto used = redis.command({"MEMORY", "USAGE", key}).integer;
  rounds(scaled(20'000));
  EXPECT_LE(open_descriptors(), descriptors + 8);  // a busy machine makes it open spare connections
  EXPECT_LT(own_status("VmRSS"), memory + (sanitized ? 64 << 10 : 2 << 10));
  EXPECT_EQ(redis.command({"DBSIZE"}).integer, 1);
  EXPECT_EQ(redis.command({"MEMORY", "USAGE", key}).integer, used);
}

TEST_F(RedisLoad, L09ADeadWaiterInFrontIsPassedOverAtOnce) {
  auto lease = alice.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  Peer front(server.url());
  front.start_acquire(name, "ttl=" + std::to_string(held_long.count()));
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  const auto bob = open(server.url()).value();
  std::jthread behind([&] { EXPECT_TRUE(succeeded(bob.lock(name, long_lived).acquire())); });
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 2; }));
  front.kill();
  ASSERT_TRUE(eventually([&] {
    return redis.command({"PUBSUB", "CHANNELS", "hf:to:*"}).items.size() == 1;
  }));
  EXPECT_TRUE(succeeded(lease->release()));
  behind.join();
}

TEST_F(RedisLoad, L09AStoppedWaiterInFrontIsPassedOverWithinItsTtl) {
  auto lease = alice.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  Peer front(server.url());
  front.start_acquire(name);
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  const auto bob = open(server.url()).value();
  std::jthread behind([&] { EXPECT_TRUE(succeeded(bob.lock(name).acquire())); });
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 2; }));
  front.stop();
  EXPECT_TRUE(succeeded(lease->release()));
  EXPECT_EQ(holding(alice, name), 1);  // the one in front, which is stopped and cannot know
  EXPECT_EQ(waiting(alice, name), 1);
  clock.set_ahead(past_ttl);
  jump(past_ttl);
  behind.join();
  front.resume();
}

}  // namespace
}  // namespace holdfast
