// dialect=string and redis-py's Lock contend for the very same lock. Skipped, and said so, where
// redis-py cannot be had.
#include <gtest/gtest.h>

#include <thread>

#include "holdfast/holdfast.hpp"
#include "support/redis/server.hpp"
#include "support/results.hpp"
#include "support/witness.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisPy : public testing::Test {
 protected:
  void SetUp() override {
    const std::string here = HOLDFAST_INTEROP;
    const std::string venv = HOLDFAST_INTEROP_BUILD "/redis_py";
    peer = std::make_unique<Process>(std::vector<std::string>{
        here + "/python", "redis", venv, here + "/redis_py.py", std::to_string(server.port())});
    try {
      if (peer->read(Millis(150'000)) == "ready") return;
    } catch (const std::exception&) {
    }
    GTEST_SKIP() << "redis-py could not be installed into " << venv;
  }

  RedisServer server;
  std::unique_ptr<Process> peer;
  const Store alice = open(server.url() + "?dialect=string").value();
  const std::string name = "the/name";
};

TEST_F(RedisPy, HoldsAndWeWait) {
  ASSERT_EQ(peer->ask("acquire " + name + " 60 0"), "held");
  EXPECT_TRUE(failed(alice.lock(name).try_acquire(), Errc::busy));
  std::jthread waiter([&] { EXPECT_TRUE(succeeded(take_at_once(alice, name))); });
  ASSERT_TRUE(eventually([&] { return alice.stats().asks > 3; }));
  EXPECT_EQ(peer->ask("release " + name), "released");
}

TEST_F(RedisPy, WaitsWhileWeHold) {
  auto lease = alice.lock(name, {.ttl = 1s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_EQ(lease->token().value, 0U);
  EXPECT_EQ(peer->ask("acquire " + name + " 60 2"), "busy");  // longer than our ttl
  EXPECT_TRUE(lease->valid());
  peer->send("acquire " + name + " 60 60");
  EXPECT_TRUE(succeeded(lease->release()));
  EXPECT_EQ(peer->read(), "held");
}

TEST_F(RedisPy, CannotReleaseWhatItLostToUs) {
  ASSERT_EQ(peer->ask("acquire " + name + " 0.5 0"), "held");
  auto lease = alice.lock(name).acquire();  // when that has expired
  ASSERT_TRUE(succeeded(lease));
  EXPECT_EQ(peer->ask("release " + name), "not_owned");
  EXPECT_TRUE(lease->valid());
  EXPECT_TRUE(succeeded(lease->release()));
}

TEST_F(RedisPy, CountsWithUs) {
  constexpr int rounds = 200;
  const TempFolder folder;
  const Witness witness(folder.path());
  peer->send("visit " + name + " " + folder.path().string() + " " + std::to_string(rounds));
  bool clean = true;
  for (int round = 0; round < rounds; ++round) {
    const auto lease = alice.lock(name).acquire();
    ASSERT_TRUE(succeeded(lease));
    clean &= witness.visit();
  }
  EXPECT_TRUE(clean);
  EXPECT_EQ(peer->read(), "clean");
  EXPECT_EQ(witness.visits(), 2 * rounds);
}

}  // namespace
}  // namespace holdfast
