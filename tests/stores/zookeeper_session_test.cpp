// Goal: what happens to a session happens to its leases, at once and to nobody else; and what was
// lost on the way is found again.
// Method: a real server, which ends sessions, and a proxy, which cuts connections.
#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "stores/zookeeper_world.hpp"
#include "support/own_clock.hpp"
#include "support/proxy.hpp"
#include "support/world.hpp"
#include "support/zookeeper/veil.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;
using testing_support::fresh_claim;

class ZooKeeperSession : public testing_support::ZooKeeperWorld {};

// S30
TEST_F(ZooKeeperSession, KilledAtTheServerIsALossAndIsMadeAnew) {
  const auto alice = client();
  auto lease = alice.lock("name").acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  const auto before = nodes("name");
  ASSERT_EQ(before.size(), 1U);
  const auto session = owner_of(before.front());
  end_session(server().port(), session);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(failed(lease->release(), Errc::lost));

  const auto again = alice.lock("name").acquire();
  ASSERT_TRUE(succeeded(again));
  EXPECT_GT(again->token(), lease->token());
  const auto after = nodes("name");
  ASSERT_EQ(after.size(), 1U);
  EXPECT_NE(owner_of(after.front()), session);
  EXPECT_FALSE(lease->valid());
}

// S31: a waiter gets in line again, behind those that are there.
TEST_F(ZooKeeperSession, KilledWhileItWaitsGetsInLineAgain) {
  const auto alice = client();
  const auto bob = client();
  auto held = bob.lock("name").acquire();
  ASSERT_TRUE(succeeded(held));
  std::atomic<bool> entered = false;
  std::jthread waiter([&] { entered = alice.lock("name").acquire().has_value(); });
  ASSERT_TRUE(eventually([&] { return nodes("name").size() == 2; }));
  const auto holder = listed(bob, "name").front().token;
  std::int64_t session = 0;
  for (const auto& path : nodes("name"))
    if (static_cast<std::uint64_t>(raw.exists(path)->czxid) * 1024 != holder.value)
      session = owner_of(path);
  end_session(server().port(), session);
  ASSERT_TRUE(eventually([&] {
    for (const auto& path : nodes("name"))
      if (const auto stat = raw.exists(path); stat && stat->ephemeral_owner == session)
        return false;
    return nodes("name").size() == 2;
  }));
  EXPECT_FALSE(entered);
  EXPECT_TRUE(held->valid());
  ASSERT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
}

// The end of a session deletes its nodes; the watch on the waiter's own node reports that first.
TEST_F(ZooKeeperSession, WhoseNodeGoesBeforeItsEndIsToldGetsInLineAgain) {
  Veil veil(server().port());
  const auto alice = open(url(veil.address())).value();
  const auto bob = client();
  auto held = bob.lock("name").acquire();
  ASSERT_TRUE(succeeded(held));
  const auto before = nodes("name");
  auto waiter =
      std::async(std::launch::async, [&] { return alice.lock("name").acquire().has_value(); });
  std::string place;
  ASSERT_TRUE(eventually([&] {
    for (const auto& path : nodes("name"))
      if (path != before.front()) place = path;
    return !place.empty() && server().watchers()[place].size() == 1;
  }));
  veil.tell_deleted(place);
  end_session(server().port(), owner_of(place));
  ASSERT_TRUE(eventually([&] { return veil.refusals() > 0; }));
  ASSERT_TRUE(eventually([&] {
    const auto now = nodes("name");
    return now.size() == 2 && std::ranges::count(now, place) == 0;
  }));
  ASSERT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(waiter.get());
}

// S32: the connection is cut at every byte of the answers to the request that makes the node.
TEST_F(ZooKeeperSession, FindsTheNodeWhoseAnswerWasLost) {
  Proxy proxy(server().port());
  const auto alice = open(url(proxy.address())).value();
  ASSERT_TRUE(succeeded(alice.lock("first").acquire()));
  for (const std::size_t bytes : {0U, 1U, 20U, 60U}) {
    const auto name = "name-" + std::to_string(bytes);
    { const auto made = alice.lock(name).acquire(); }  // makes its folder
    const auto cuts = proxy.counts().cuts;
    proxy.cut(Way::replies, bytes, name);
    const auto lease = alice.lock(name).acquire();
    ASSERT_TRUE(succeeded(lease));
    EXPECT_EQ(proxy.counts().cuts, cuts + 1);
    const auto all = nodes(name);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(lease->token().value / 1024,
              static_cast<std::uint64_t>(raw.exists(all.front())->czxid));
  }
}

TEST_F(ZooKeeperSession, MakesTheNodeWhoseRequestWasLost) {
  Proxy proxy(server().port());
  const auto alice = open(url(proxy.address())).value();
  { const auto made = alice.lock("name").acquire(); }
  proxy.cut(Way::requests, 3, "name");
  const auto lease = alice.lock("name").acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_EQ(proxy.counts().cuts, 1);
  EXPECT_EQ(nodes("name").size(), 1U);
}

// S33: a release, and a wait that is given up, while nothing gets through.
TEST_F(ZooKeeperSession, LeavesNothingBehindThatItCouldNotDelete) {
  Proxy proxy(server().port());
  const auto alice = open(url(proxy.address()), {.release_deadline = 100ms}).value();
  const auto bob = client();
  auto lease = alice.lock("held").acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto other = bob.lock("waited").acquire();
  ASSERT_TRUE(succeeded(other));
  std::stop_source stop;
  std::jthread waiter([&] {
    EXPECT_TRUE(failed(alice.lock("waited").acquire(stop.get_token()), Errc::cancelled));
  });
  ASSERT_TRUE(eventually([&] { return nodes("waited").size() == 2; }));
  proxy.hold();
  stop.request_stop();
  waiter.join();
  EXPECT_TRUE(failed(lease->release(), Errc::unknown));
  EXPECT_EQ(nodes("held").size(), 1U);
  EXPECT_EQ(nodes("waited").size(), 2U);
  proxy.reset();
  proxy.heal();
  EXPECT_TRUE(eventually([&] { return nodes("held").empty() && nodes("waited").size() == 1; }));
  EXPECT_TRUE(eventually([&] { return alice.stats().debts == 0; }));
}

TEST_F(ZooKeeperSession, SurvivesALostConnection) {
  Proxy proxy(server().port());
  const auto alice = open(url(proxy.address())).value();
  const auto lease = alice.lock("name").acquire();
  ASSERT_TRUE(succeeded(lease));
  proxy.reset();
  ASSERT_TRUE(eventually([&] { return alice.stats().at_risk >= 1; }));
  const auto left = lease->left();
  jump(4s);  // The session is proven six times in its life.
  ASSERT_TRUE(eventually([&] { return lease->left() > left - 4s || !lease->valid(); }));
  EXPECT_TRUE(lease->valid());
  EXPECT_FALSE(lease->lost().stop_requested());
}

TEST_F(ZooKeeperSession, ThatCannotBeHadIsUnavailable) {
  const auto port = std::to_string(free_port());
  const auto alice =
      open("zookeeper://user:secret@127.0.0.1:" + port, {.patience = shortly}).value();
  ASSERT_TRUE(eventually([&] {  // On a slow machine it may not even have been refused by then.
    const auto lease = alice.lock("name").acquire();
    EXPECT_TRUE(failed(lease, Errc::unavailable));
    EXPECT_EQ(std::string(lease.error().what()).find("secret"), std::string::npos);
    return lease.error().reason() == "unreachable";
  }));
  const auto nowhere = open("zookeeper://nothing.invalid", {.patience = shortly});
  EXPECT_TRUE(failed(nowhere->lock("name").acquire(), Errc::unavailable));
}

// An ask that is answered `no` at its deadline was not sent, and is not sent later.
TEST_F(ZooKeeperSession, DoesNothingLaterThatItSaidItHadNotDone) {
  Proxy proxy(server().port());
  proxy.refuse();
  testing_support::ZooKeeperStoreClient alice(url(proxy.address()));
  const auto claim = fresh_claim();
  const auto ask = alice.wanting("name", claim);
  EXPECT_EQ(alice.ask(ask, 300ms).said, Said::no);
  proxy.heal();
  const auto other = fresh_claim();
  const auto second = alice.wanting("other", other);
  ASSERT_EQ(alice.ask(second, patient).said, Said::yes);
  EXPECT_TRUE(nodes("name").empty());
}

// ── while clocks run ─────────────────────────────────────────────────────────────────────────────

class ZooKeeperSessionClock : public ZooKeeperSession {
 protected:
  // The longest tick allowed: a lease ends one tick before its session, and no machine is so slow
  // that the loss is told later than that.
  std::string brief(const std::string& address) const {
    return with_option(with_option(url(address), "session=6s"), "tick=2s");
  }
};

// The lease ends here before the server can have given it to another. That is a race between two
// clocks, ours and the server's, so both must run.
TEST_F(ZooKeeperSessionClock, CutOffIsLostBeforeAnotherEnters) {
  Proxy proxy(server().port());
  const auto alice = open(brief(proxy.address())).value();
  const auto bob = client();
  const auto lease = alice.lock("name").acquire();
  ASSERT_TRUE(succeeded(lease));
  std::atomic<bool> told = false;
  const std::stop_callback on_loss(lease->lost(), [&] { told = true; });
  proxy.hold();
  const auto next = bob.lock("name").acquire();
  EXPECT_TRUE(told);
  EXPECT_FALSE(lease->valid());
  ASSERT_TRUE(succeeded(next));
  EXPECT_GT(next->token(), lease->token());
}

// A server may end a session while its client comes back to it, and keep the connection. Only time
// shows that an answered ping proves nothing.
TEST_F(ZooKeeperSessionClock, KilledBehindAConnectionThatStaysIsMadeAnew) {
  const Veil veil(server().port());
  const auto alice = open(brief(veil.address())).value();
  const auto lease = alice.lock("name").acquire();
  ASSERT_TRUE(succeeded(lease));
  end_session(server().port(), owner_of(nodes("name").front()));
  EXPECT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
  const auto again = alice.lock("name").acquire();
  ASSERT_TRUE(succeeded(again));
  EXPECT_GT(again->token(), lease->token());
  EXPECT_GT(veil.refusals(), 0);
}

}  // namespace
}  // namespace holdfast
