// dialect=string and redis-py's Lock contend for the same lock. Skipped, with a message, where
// redis-py is not available.
#include <gtest/gtest.h>

#include <thread>

#include "holdfast/holdfast.hpp"
#include "support/own_clock.hpp"
#include "support/redis/server.hpp"
#include "support/results.hpp"
#include "support/witness.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisPy : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string here = HOLDFAST_INTEROP, built = HOLDFAST_INTEROP_BUILD;
    server_ = std::make_unique<RedisServer>();
    peer_ = std::make_unique<Process>(
        std::vector<std::string>{here + "/python", "redis", built + "/redis_py",
                                 here + "/redis_py.py", std::to_string(server_->port())});
    try {
      if (peer_->read(Millis(150'000)) == "ready") return;  // It may have to be fetched first.
    } catch (const std::exception&) {
    }
    peer_.reset();
  }
  static void TearDownTestSuite() {
    peer_.reset();
    server_.reset();
  }
  void SetUp() override {
    if (!peer) GTEST_SKIP() << "redis-py could not be installed";
  }

  RedisServer& server = *server_;
  Process* const peer = peer_.get();
  const Store alice = open(server.url() + "?dialect=string").value();
  const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();

 private:
  static inline std::unique_ptr<RedisServer> server_;
  static inline std::unique_ptr<Process> peer_;
};

TEST_F(RedisPy, HoldsAndWeWait) {
  ASSERT_EQ(peer->ask("acquire " + name + " 60 0"), "held");
  EXPECT_TRUE(failed(alice.lock(name).try_acquire(), Errc::busy));
  std::jthread waiter([&] { EXPECT_TRUE(succeeded(take_at_once(alice, name))); });
  ASSERT_TRUE(eventually([&] { return alice.stats().asks > 3; }));
  EXPECT_EQ(peer->ask("release " + name), "released");
}

TEST_F(RedisPy, WaitsWhileWeHold) {
  auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_EQ(lease->token().value, 0U);
  auto redis = server.client();
  const auto left = [&] { return redis.command({"PTTL", name}).integer; };
  redis.command({"PEXPIRE", name, "20000"});
  jump(11s);  // A third of its ttl has passed by our clock, so it is renewed at the server.
  EXPECT_TRUE(eventually([&] { return left() > 20'000; }));
  EXPECT_EQ(peer->ask("acquire " + name + " 60 0.2"), "busy");
  EXPECT_TRUE(lease->valid());
  peer->send("acquire " + name + " 60 60");
  EXPECT_TRUE(succeeded(lease->release()));
  EXPECT_EQ(peer->read(), "held");
}

TEST_F(RedisPy, CannotReleaseWhatItLostToUs) {
  ASSERT_EQ(peer->ask("acquire " + name + " 60 0"), "held");
  EXPECT_TRUE(failed(alice.lock(name).try_acquire(), Errc::busy));
  server.client().command({"PEXPIRE", name, "0"});
  auto lease = alice.lock(name).acquire();
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
