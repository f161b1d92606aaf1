// Goal: a server that came back empty, or with an older backup, is noticed: what was held is lost,
// no token goes back, and the store says why, and works again once that is safe (S28). Method: a
// real server, whose data folder is replaced while it is down.
#include <filesystem>
#include <future>
#include <thread>

#include "holdfast/holdfast.hpp"
#include "support/own_clock.hpp"
#include "support/proxy.hpp"
#include "support/results.hpp"
#include "support/zookeeper/server.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class ZooKeeperBackup : public testing::Test {
 protected:
  // The session is so long that no server ends one during a test.
  static constexpr Millis past_session = 61s;

  Store client(Millis patience = shortly) const {
    return open("zookeeper://" + proxy.address() + "?session=60s&tick=200ms",
                {.patience = patience})
        .value();
  }
  // The patience of a client that soon says what is wrong may be too short for a busy machine.
  static Result<Lease> taken(const Store& store, const std::string& name) {
    auto lease = store.lock(name).acquire();
    eventually([&] { return lease || (lease = store.lock(name).acquire()); });
    return lease;
  }
  static std::string reason_now(const Store& store) {
    const auto lease = store.lock("other").acquire();
    return lease ? "granted" : std::string(lease.error().reason());
  }
  static bool eventually_says(const Store& store, const std::string& reason) {
    return eventually([&] { return reason_now(store) == reason; });
  }
  // The error says that the session may still be resumed.
  static bool hopes(const Store& store) {
    const auto lease = store.lock("other").acquire();
    return !lease && std::string(lease.error().what()).find("backup") != std::string::npos;
  }
  // So many that the test's own requests do not bring the server to these numbers again.
  static void use_numbers(const Store& store) {
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(succeeded(taken(store, "other")));
  }
  void back_up() {
    while_down([&] { copy(server.data(), kept_.path() / "data"); });
  }
  // The server comes back with the backup, or with nothing.
  void lose_data() {
    while_down([&] {
      std::filesystem::remove_all(server.data());
      if (std::filesystem::exists(kept_.path() / "data"))
        copy(kept_.path() / "data", server.data());
    });
  }
  // Brings the server's numbers up to that of a token.
  void go_on_to(Token token) {
    auto raw = server.client();
    const auto number = static_cast<std::int64_t>(token.value / 1024);
    for (std::int64_t reached = 0; reached <= number;)
      reached = raw.exists(raw.create("/n", "", ZooKeeperClient::Mode::sequential))->czxid;
  }

  // Until the boot clock says that its session is over, it might be resumed.
  void is_told_and_goes_on(const Store& alice, Lease& lease) {
    EXPECT_TRUE(eventually_says(alice, "unreachable"));
    EXPECT_TRUE(hopes(alice));
    jump(past_session);
    EXPECT_TRUE(eventually_says(alice, "fencing_regressed"));
    EXPECT_TRUE(lease.lost().stop_requested());
    EXPECT_TRUE(failed(lease.release(), Errc::lost));
    go_on_to(lease.token());
    const auto again = alice.lock("name", {.wait = patient}).acquire();
    ASSERT_TRUE(succeeded(again));
    EXPECT_GT(again->token(), lease.token());
  }

  ZooKeeperServer server;
  Proxy proxy{server.port()};

 private:
  // Nobody connects to a starting server, because it may not answer for most of a session.
  template <class Change>
  void while_down(Change&& change) {
    proxy.refuse();
    proxy.reset();
    server.kill();
    change();
    server.start();
    proxy.heal();
  }
  static void copy(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  }
  const TempFolder kept_;
};

TEST_F(ZooKeeperBackup, AServerThatCameBackEmptyIsToldOfAndUsedAgain) {
  const auto alice = client();
  use_numbers(alice);
  auto lease = taken(alice, "name");
  ASSERT_TRUE(succeeded(lease));
  lose_data();
  is_told_and_goes_on(alice, *lease);
}

TEST_F(ZooKeeperBackup, AnOlderBackupIsToldOfAndUsedAgain) {
  const auto alice = client();
  const auto before = taken(alice, "before");
  ASSERT_TRUE(succeeded(before));
  back_up();
  ASSERT_TRUE(eventually_says(alice, "granted"));
  use_numbers(alice);
  auto lease = taken(alice, "name");
  ASSERT_TRUE(succeeded(lease));
  lose_data();
  is_told_and_goes_on(alice, *lease);
  EXPECT_TRUE(before->lost().stop_requested());
}

TEST_F(ZooKeeperBackup, WhoWaitedGetsInLineAgainAndIsTold) {
  const auto alice = client(patient);
  const auto bob = client();
  const auto held = taken(bob, "name");
  ASSERT_TRUE(succeeded(held));
  std::promise<std::string> told;
  std::jthread waiter([&] {
    const auto lease = alice.lock("name", {.wait = forever}).acquire();
    told.set_value(lease ? "granted" : std::string(lease.error().reason()));
  });
  ASSERT_TRUE(eventually([&] { return waiting(bob, "name") == 1; }));
  use_numbers(alice);
  lose_data();
  jump(past_session);
  auto answer = told.get_future();
  EXPECT_TRUE(eventually([&] {
    (void)alice.list("nobody");  // A jump does not wake a thread that waits for the server.
    return answer.wait_for(0s) == std::future_status::ready;
  }));
  EXPECT_EQ(answer.get(), "fencing_regressed");
}

// The server has all its data, and keeps the session for another minute.
TEST_F(ZooKeeperBackup, AfterALongOutageNobodyWaitsForItsOwnOrphan) {
  const auto alice = client();
  auto lease = taken(alice, "name");
  ASSERT_TRUE(succeeded(lease));
  proxy.refuse();
  proxy.reset();
  ASSERT_TRUE(eventually_says(alice, "unreachable"));
  ASSERT_TRUE(hopes(alice));
  jump(past_session);
  ASSERT_TRUE(eventually([&] { return !hopes(alice); }));
  EXPECT_TRUE(lease->lost().stop_requested());
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  proxy.heal();
  ASSERT_TRUE(eventually_says(alice, "granted"));
  const auto again = alice.lock("name", {.wait = patient}).acquire();
  ASSERT_TRUE(succeeded(again));
  EXPECT_GT(again->token(), lease->token());
}

}  // namespace
}  // namespace holdfast
