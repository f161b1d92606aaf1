// Goal: keep-alives do not hold each other up, and cost nobody else anything. They go to the
// leader, or on many streams; the client gives up a stream on which it hears nothing at all.
// Method: three real servers, proxies between them, and the servers' own counts of streams.
#include <gtest/gtest.h>

#include <algorithm>

#include "stores/etcd_operator.hpp"
#include "stores/etcd_talk.hpp"
#include "support/etcd/cluster.hpp"
#include "support/many_leases.hpp"
#include "support/proxy.hpp"
#include "support/results.hpp"

namespace holdfast::stores::etcd {
namespace {

using namespace std::chrono_literals;
using namespace support;

// Timeouts so long that a busy machine causes no election.
const EtcdOptions steady{.heartbeat = 100ms, .election = 1500ms};

using Nodes = std::vector<EtcdServer*>;

std::vector<std::string> addresses_of(const Nodes& nodes) {
  std::vector<std::string> all;
  for (const EtcdServer* node : nodes) all.push_back(node->address());
  return all;
}

EtcdServer::Streams keep_alives_at(const Nodes& nodes) {
  EtcdServer::Streams sum;
  for (const EtcdServer* node : nodes) {
    const auto here = node->streams("LeaseKeepAlive");
    sum.begun += here.begun;
    sum.requests += here.requests;
  }
  return sum;
}

class EtcdKeepAlives : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const EtcdOptions never_elected{.heartbeat = 100ms, .election = 10s};
    cluster_ = std::make_unique<EtcdCluster>(never_elected, Links::proxied);
  }
  static void TearDownTestSuite() { cluster_.reset(); }
  EtcdKeepAlives() { cluster.delay(2ms); }
  ~EtcdKeepAlives() override { cluster.heal(); }

  std::vector<std::int64_t> granted(Talk& talk, int count) const {
    std::vector<Later<LeaseGranted>> asked;
    for (int i = 0; i < count; ++i) asked.push_back(talk->grant(600s, deadline));
    std::vector<std::int64_t> all;
    for (const auto& later : asked) all.push_back(answer_of(later).lease);
    EXPECT_EQ(std::ranges::count(all, 0), 0);
    return all;
  }
  // How many of these leases were kept.
  std::size_t kept(Talk& talk, const std::vector<std::int64_t>& leases) const {
    std::vector<Later<LeaseKept>> asked;
    for (const auto lease : leases) asked.push_back(talk->keep(lease, deadline));
    std::size_t count = 0;
    for (const auto& later : asked) count += answer_of(later).done();
    return count;
  }
  // A lease. Opens the first stream, and a watch.
  std::int64_t opened(Talk& talk) const {
    const auto leases = granted(talk, 1);
    EXPECT_EQ(kept(talk, leases), 1U);
    EXPECT_TRUE(talk->watch(1, {.key = "key"}));
    EXPECT_TRUE(eventually([&] { return talk.watches_opened == 1; }));
    return leases.front();
  }

  // The first keep-alive makes the client ask who leads.
  bool reach_the_leader(Talk& talk, std::int64_t lease) const {
    return eventually([&] {
      talk.pass(200ms);
      auto& leads_now = cluster.leader();  // A standstill may have caused an election.
      const auto before = keep_alives_at({&leads_now});
      return kept(talk, {lease}) == 1 && keep_alives_at({&leads_now}).requests > before.requests;
    });
  }

  EtcdCluster& cluster = *cluster_;
  Nodes followers = cluster.followers();
  EtcdServer& leader = cluster.leader();
  const BootTime deadline = BootClock::now() + 24h;  // The tests move the clock.

 private:
  static inline std::unique_ptr<EtcdCluster> cluster_;
};

TEST_F(EtcdKeepAlives, GoOnManyStreamsWhereOnlyFollowersAreKnown) {
  Talk talk(addresses_of(followers));
  const auto leases = granted(talk, scaled(600));
  const auto before = keep_alives_at(followers);
  EXPECT_EQ(kept(talk, leases), leases.size());
  EXPECT_GT(keep_alives_at(followers).begun, before.begun + 8);
}

TEST_F(EtcdKeepAlives, GoToTheLeaderWhereItIsKnown) {
  Talk talk({followers[0]->address(), followers[1]->address(), leader.address()});
  const auto leases = granted(talk, scaled(300));
  ASSERT_TRUE(reach_the_leader(talk, leases.front()));
  const auto at_leader = keep_alives_at({&leader}), elsewhere = keep_alives_at(followers);
  EXPECT_EQ(kept(talk, leases), leases.size());
  EXPECT_EQ(keep_alives_at({&leader}).requests, at_leader.requests + std::ssize(leases));
  EXPECT_EQ(keep_alives_at(followers).requests, elsewhere.requests);
}

TEST_F(EtcdKeepAlives, GoToTheLeaderWhenItIsFoundLater) {
  Proxy door(leader.port());
  Talk talk({followers[0]->address(), followers[1]->address(), door.address()});
  const auto lease = granted(talk, 1).front();
  door.refuse();
  const long before = followers[0]->streams("Status").begun;
  ASSERT_TRUE(eventually([&] {
    talk.pass(500ms);
    return kept(talk, {lease}) == 1 && followers[0]->streams("Status").begun > before + 1;
  })) << "they ask only once who leads";
  door.heal();
  EXPECT_TRUE(reach_the_leader(talk, lease));
}

// A proxy holds what followers pass on to the leader; everything else goes on.
TEST_F(EtcdKeepAlives, BreakNoWatchWhenTheyAreSlow) {
  Talk talk(addresses_of(followers));
  const auto lease = opened(talk);
  const auto before = keep_alives_at(followers);
  cluster.hold_from("POST /leases");
  const auto late = future_of(talk->keep(lease, deadline));
  ASSERT_TRUE(eventually([&] {
    talk.pass(200ms);
    return keep_alives_at(followers).begun > before.begun + 2;
  })) << "silent streams are given up";
  leader.ctl({"put", "key", "value"});
  EXPECT_TRUE(eventually([&] { return talk.changes_heard == 1; }));
  EXPECT_EQ(talk.watches_closed, 0);
  EXPECT_FALSE(is_there(late));
  cluster.heal();
  EXPECT_TRUE(eventually([&] {
    talk.pass(20ms);
    return is_there(late);
  }));
}

TEST_F(EtcdKeepAlives, MoveToAnotherMemberWhenOneIsSilent) {
  Proxy silent(followers[0]->port());
  Talk talk({silent.address(), followers[1]->address()});
  opened(talk);
  const auto leases = granted(talk, scaled(300));  // enough for all streams
  silent.hold();
  std::vector<std::future<LeaseKept>> moved;
  for (const auto lease : leases) moved.push_back(future_of(talk->keep(lease, deadline)));
  talk.pass(1100ms);  // None of them goes back there, to wait for another second.
  for (auto& each : moved) {
    ASSERT_TRUE(eventually([&] { return is_there(each); }));
    EXPECT_TRUE(each.get().done());
  }
  EXPECT_EQ(talk.watches_closed, 0);
}

// Asking twice would make it slower still.
TEST_F(EtcdKeepAlives, DoNotAskASlowMemberTwiceForALease) {
  Proxy slow(followers[0]->port());
  Talk talk({slow.address()});
  const auto lease = opened(talk);
  const auto before = keep_alives_at(followers);
  slow.hold(Way::replies);
  const auto keep = [&] { return future_of(talk->keep(lease, deadline, Keeping::from_then_on)); };
  const BootTime sent = BootClock::now();
  auto first = keep(), second = keep();
  const BootTime asked = BootClock::now();
  slow.heal();
  for (auto* each : {&first, &second}) {
    const LeaseKept kept = each->get();
    ASSERT_TRUE(kept.done());
    EXPECT_GE(kept.sent, sent);
    EXPECT_LE(kept.sent, asked);
  }
  EXPECT_EQ(keep_alives_at(followers).requests, before.requests + 1);
}

// The second is unanswered for longer than a stream may be silent, but the first is answered
// meanwhile.
TEST_F(EtcdKeepAlives, StayOnAStreamThatIsOnlySlow) {
  Proxy slow(followers[0]->port());
  Talk talk({slow.address(), followers[1]->address()});
  const auto lease = opened(talk);
  bool stood_still = true;
  for (int trial = 0; stood_still && trial < 10; ++trial) {
    const auto began = std::chrono::steady_clock::now();
    const auto before = keep_alives_at(followers);
    const long at_server = keep_alives_at({followers[0]}).requests;
    slow.hold(Way::replies);
    const auto first = future_of(talk->keep(lease, deadline));
    ASSERT_TRUE(eventually([&] { return keep_alives_at({followers[0]}).requests > at_server; }));
    slow.hold(Way::requests);
    const auto second = future_of(talk->keep(lease, deadline));
    talk.pass(550ms);
    slow.release(Way::replies);
    ASSERT_TRUE(eventually([&] { return is_there(first); }));
    talk.pass(550ms);
    // Real time passes as well: on a machine that stood still, it was a silence.
    stood_still = std::chrono::steady_clock::now() - began > 400ms;
    slow.heal();
    ASSERT_TRUE(eventually([&] { return is_there(second); }));
    if (!stood_still) {
      EXPECT_EQ(keep_alives_at(followers).begun, before.begun);
    }
  }
  EXPECT_FALSE(stood_still) << "this machine is too slow for it";
}

// ── many locks ───────────────────────────────────────────────────────────────────────────────────

std::string url_of(const Nodes& nodes) {
  std::string hosts;
  for (const std::string& address : addresses_of(nodes))
    hosts += (hosts.empty() ? "" : ",") + address;
  return "etcd://" + hosts;
}

// Waits until there were so many renewals in all, or a loss.
bool renewed_or_lost(const Store& store, std::uint64_t times) {
  const auto before = store.stats().renewed;
  return eventually([&] {
    const Stats now = store.stats();
    return now.renewed >= before + times || now.lost > 0;
  });
}

TEST(EtcdManyLocks, OutliveTheLeader) {
  const int count = scaled(300);
  EtcdCluster cluster(steady);
  const Store store = client(cluster.url());
  const ManyLeases held(store, count, {});
  ASSERT_EQ(held.size(), count);
  cluster.leader().kill();
  for (int round = 0; round < 2; ++round) {
    jump(11s);  // All are due.
    EXPECT_TRUE(renewed_or_lost(store, static_cast<std::uint64_t>(count)));
    EXPECT_EQ(store.stats().lost, 0U);
  }
  EXPECT_GT(held.least_left(), 0ms);
}

// bench/etcd/many_locks.cpp runs longer, with more locks.
TEST(EtcdManyLocksClock, AreKeptThroughFollowers) {
  const int count = scaled(1500);
  EtcdCluster cluster(steady, Links::proxied);
  cluster.delay(2ms);
  const Store store = client(url_of(cluster.followers()));
  const ManyLeases held(store, count, {.ttl = 10s});
  ASSERT_EQ(held.size(), count);
  EXPECT_TRUE(renewed_or_lost(store, static_cast<std::uint64_t>(6 * count)));
  EXPECT_EQ(store.stats().lost, 0U);
  EXPECT_GT(held.least_left(), 0ms);
}

}  // namespace
}  // namespace holdfast::stores::etcd
