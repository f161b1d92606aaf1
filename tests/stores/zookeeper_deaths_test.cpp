// Goal: what a death leaves under a name keeps nobody out for longer than its lock_delay, and is
// gone when somebody has asked for that name again. Method: a real server, which the tests inspect
// and change with a client of their own.
#include <thread>

#include "stores/zookeeper_world.hpp"
#include "support/own_clock.hpp"
#include "support/peer.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;
using testing_support::fresh_claim;
using testing_support::ZooKeeperStoreClient;
using Paths = std::vector<std::string>;

constexpr std::int32_t may_read = 1, may_write = 2;

class ZooKeeperDeaths : public testing_support::ZooKeeperWorld {
 protected:
  static bool is_marker(const std::string& path) { return path.find("-delay-") != path.npos; }

  // What is left of a holder with a lock_delay that was killed, once its session has ended.
  std::string marker_of_a_death() {
    Peer peer(url());
    peer.acquire("name", "lock_delay=1");
    std::string marker;
    std::int64_t session = 0;
    for (const auto& path : nodes("name")) (is_marker(path) ? marker : claim_) = path;
    session = owner_of(claim_);
    peer.kill();
    end_session(server().port(), session);
    EXPECT_EQ(nodes("name"), Paths{marker});
    return marker;
  }

  // As if the holder had had a session so short that its delay is over.
  void let_delay_pass(const std::string& marker) {
    raw.set(marker, "1");
    const auto written = raw.exists(marker)->mtime;
    ASSERT_TRUE(eventually([&] {
      raw.set(node("name"), "");
      return raw.exists(node("name"))->mtime > written + 10;
    }));
  }

 private:
  std::string claim_;
};

TEST_F(ZooKeeperDeaths, LeaveAMarkerThatGoesWithTheFirstTryAfterTheDelay) {
  const auto marker = marker_of_a_death();
  const auto alice = client();
  const auto refused = alice.lock("name").try_acquire();
  ASSERT_TRUE(failed(refused, Errc::busy));
  EXPECT_EQ(refused.error().reason(), "lock_delay");
  EXPECT_EQ(nodes("name"), Paths{marker});
  let_delay_pass(marker);
  EXPECT_TRUE(succeeded(client().lock("name").try_acquire()));
  EXPECT_EQ(nodes("name"), Paths{});
}

TEST_F(ZooKeeperDeaths, LeaveAMarkerThatGoesWithTheWaiterWhoGetsTheLock) {
  const auto marker = marker_of_a_death();
  const auto alice = client();
  // The clock may jump while its ask is on its way, which makes the answer worthless.
  std::jthread waiter(
      [&] { EXPECT_TRUE(eventually([&] { return bool(alice.lock("name").acquire()); })); });
  ASSERT_TRUE(eventually([&] { return nodes("name").size() == 2; }));
  let_delay_pass(marker);
  jump(past_ttl);  // It asks again.
  waiter.join();
  EXPECT_EQ(nodes("name"), Paths{});
}

TEST_F(ZooKeeperDeaths, OfASessionWhoseHolderLivesAndLetsGoLeaveNoMarker) {
  const auto alice = client();
  auto lease = alice.lock("name", {.lock_delay = held_long}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto held = nodes("name");
  ASSERT_EQ(held.size(), 2U);
  end_session(server().port(), owner_of(is_marker(held.front()) ? held.back() : held.front()));
  ASSERT_TRUE(eventually([&] { return !lease->valid(); }));
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  EXPECT_TRUE(eventually([&] { return alice.stats().debts == 0; }));
  EXPECT_EQ(nodes("name"), Paths{});
  EXPECT_TRUE(succeeded(client().lock("name").try_acquire()));
}

TEST_F(ZooKeeperDeaths, AreNotMistakenForAReleaseWhichLeavesNoMarker) {
  const auto alice = client();
  auto lease = alice.lock("name", {.lock_delay = held_long}).acquire();
  ASSERT_TRUE(succeeded(lease));
  ASSERT_EQ(nodes("name").size(), 2U);
  EXPECT_TRUE(succeeded(lease->release()));
  EXPECT_EQ(nodes("name"), Paths{});
}

// Anybody may see its age; the length of its session, which is unreadable, is taken to be ours.
TEST_F(ZooKeeperDeaths, LeaveAMarkerThatIsWaitedForAlsoWhereItMayNotBeRead) {
  const auto marker = marker_of_a_death();
  raw.set_rights(marker, may_write);
  ZooKeeperStoreClient alice(url());
  const auto answer = alice.ask("name", fresh_claim(), true);
  EXPECT_EQ(answer.said, Said::queued);
  EXPECT_GT(answer.ttl, 1s) << "it would ask again and again";
}

TEST_F(ZooKeeperDeaths, DoNotMakeAnAskPollThatMayNotLearnTheTime) {
  const auto marker = marker_of_a_death();
  ZooKeeperStoreClient alice(url());
  const auto claim = fresh_claim();
  ASSERT_EQ(alice.ask("name", claim, true).said, Said::queued);
  for (const auto& path : nodes("name"))
    if (path != marker) raw.set_rights(path, may_read);
  const auto answer = alice.ask("name", claim, true);
  EXPECT_EQ(answer.said, Said::no);
  EXPECT_EQ(answer.problem.errc, Errc::denied);
  EXPECT_EQ(nodes("name"), Paths{marker});
}

}  // namespace
}  // namespace holdfast
