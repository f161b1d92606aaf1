// Goal: what a death, or somebody else, leaves under a name in etcd keeps nobody out for longer
// than it should. Method: a real server, inspected with etcdctl.
#include <gtest/gtest.h>

#include <thread>

#include "stores/etcd_operator.hpp"
#include "support/peer.hpp"
#include "support/proxy.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

// The lease of a claim's delay, or that of the claim itself.
std::string lease_of(const EtcdServer& server, bool of_delay) {
  for (const std::string& lease : leases(server)) {
    const std::string keys = server.ctl({"lease", "timetolive", lease, "--keys"});
    const bool of_a_delay = keys.find(".delay") != keys.npos;
    if (keys.find("holdfast/") != keys.npos && of_a_delay == of_delay) return lease;
  }
  throw std::runtime_error("there is no such lease");
}

std::string keys_in(const EtcdServer& server) {
  return server.ctl({"get", "--prefix", "holdfast/", "--keys-only"});
}

class EtcdDeaths : public testing::Test {
 protected:
  EtcdServer server;
  const std::string name = "the/name";
};

TEST_F(EtcdDeaths, KeysOfOthersUnderItsNameAreInNobodysWay) {
  server.ctl({"put", "holdfast/1/locks/nightly/note", "not ours"});
  server.ctl({"put", "holdfast/1/locks/nightly/00000000000000ff.delay", "1 200"});  // no lease
  const auto alice = client(server.url());
  const auto bob = client(server.url());
  const auto lock = alice.lock("nightly", {.lock_delay = held_long});
  for (const auto& free : {alice.lock("nightly"), lock, alice.rw_lock("nightly").read()}) {
    const auto lease = free.try_acquire();
    ASSERT_TRUE(succeeded(lease));
    EXPECT_TRUE(failed(bob.lock("nightly").try_acquire(), Errc::busy));
  }
  EXPECT_TRUE(succeeded(bob.lock("nightly").try_acquire()));
  EXPECT_NE(keys_in(server).find("nightly/note"), std::string::npos) << "it was not left alone";
}

// Nobody has to see the death: etcd ends the delay by itself.
TEST_F(EtcdDeaths, ADelayIsOverWithItsLease) {
  Peer alice(server.url());
  alice.acquire(name, "lock_delay=" + std::to_string(held_long.count()));
  alice.kill();
  server.ctl({"lease", "revoke", lease_of(server, false)});
  const auto bob = client(server.url());
  const auto refused = bob.lock(name).try_acquire();
  ASSERT_TRUE(failed(refused, Errc::busy));
  EXPECT_EQ(refused.error().reason(), "lock_delay");
  {
    std::jthread waiter([&] { EXPECT_TRUE(succeeded(bob.lock(name).try_acquire_for(patient))); });
    ASSERT_TRUE(eventually([&] { return listed(bob, name).size() == 1; }));
    server.ctl({"lease", "revoke", lease_of(server, true)});
  }
  EXPECT_EQ(keys_in(server), "");
}

TEST_F(EtcdDeaths, WhoWaitsForADelayIsListedAsWaiting) {
  Peer alice(server.url());
  alice.acquire(name, "lock_delay=" + std::to_string(held_long.count()));
  alice.kill();
  server.ctl({"lease", "revoke", lease_of(server, false)});
  const auto bob = client(server.url());
  std::jthread waiter([&] { EXPECT_TRUE(succeeded(bob.lock(name).try_acquire_for(patient))); });
  ASSERT_TRUE(eventually([&] { return listed(bob, name).size() == 1; }));
  EXPECT_EQ(waiting(bob, name), 1);
  const auto refused = client(server.url()).lock(name).try_acquire();
  EXPECT_TRUE(failed(refused, Errc::busy));
  EXPECT_EQ(refused.error().reason(), "lock_delay");
  EXPECT_FALSE(bob.revoke(name)) << "nobody holds it";
  server.ctl({"lease", "revoke", lease_of(server, true)});
}

// Reads "lease 694d… granted with TTL(15s), remaining(14s), attached keys(…)".
int granted_seconds(const EtcdServer& server, const std::string& lease) {
  const std::string text = server.ctl({"lease", "timetolive", lease});
  return std::stoi(text.substr(text.find("TTL(") + 4));
}

TEST_F(EtcdDeaths, ADelayIsCountedFromTheLeaseThatWasGranted) {
  const EtcdServer generous({.election = 5s});  // Its shortest lease lasts 8 s.
  const auto alice = client(generous.url());
  const auto lease = alice.lock(name, {.ttl = 6s, .lock_delay = 5s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const int granted = granted_seconds(generous, lease_of(generous, false));
  EXPECT_GT(granted, 6);
  EXPECT_EQ(granted_seconds(generous, lease_of(generous, true)), granted + 5);
}

TEST_F(EtcdDeaths, WhoLetsGoAfterALossLeavesNoDelay) {
  const auto alice = client(server.url());
  auto lease = alice.lock(name, {.lock_delay = held_long}).acquire();
  ASSERT_TRUE(succeeded(lease));
  server.ctl({"lease", "revoke", lease_of(server, false)});
  ASSERT_TRUE(eventually([&] { return !lease->valid(); }));
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  EXPECT_TRUE(eventually([&] { return alice.stats().debts == 0; }));
  EXPECT_EQ(keys_in(server), "");
  EXPECT_TRUE(succeeded(client(server.url()).lock(name).try_acquire()));
}

TEST_F(EtcdDeaths, AGrantThatWasNotHeardOfIsOneLeaseOnly) {
  Proxy proxy(server.port());
  const auto alice = client("etcd://" + proxy.address());
  proxy.cut(Way::replies, 0, "LeaseGrant");
  ASSERT_TRUE(succeeded(alice.lock(name, {.ttl = held_long}).acquire()));
  EXPECT_EQ(proxy.counts().cuts, 1);
  EXPECT_EQ(leases(server).size(), 1U);
}

TEST_F(EtcdDeaths, AGrantThatCameTooLateLeavesNoLease) {
  Proxy proxy(server.port());
  const auto alice = client("etcd://" + proxy.address());
  ASSERT_TRUE(succeeded(alice.lock("other").acquire()));  // Connects first.
  const auto before = leases(server);
  proxy.hold(Way::replies);
  {
    std::jthread asker([&] {
      const auto refused = alice.lock(name, {.ttl = held_long, .wait = 3s}).acquire();
      EXPECT_TRUE(failed(refused, Errc::unavailable));
    });
    ASSERT_TRUE(eventually([&] { return leases(server).size() > before.size(); }));
  }
  proxy.heal();
  EXPECT_TRUE(eventually([&] { return leases(server) == before; }));
}

TEST_F(EtcdDeaths, AStoreThatEndsLeavesNoLeases) {
  {
    const auto alice = client(server.url());
    for (const auto& lock :
         {alice.lock(name, {.ttl = held_long}), alice.lock("other", {.lock_delay = held_long})})
      ASSERT_TRUE(succeeded(lock.acquire()));
    EXPECT_FALSE(leases(server).empty());
  }
  EXPECT_TRUE(leases(server).empty());
  const auto bob = client(server.url());
  ASSERT_TRUE(succeeded(bob.lock(name, {.ttl = held_long}).acquire()));
  ASSERT_TRUE(succeeded(bob.close(patient)));
  EXPECT_TRUE(leases(server).empty());
}

}  // namespace
}  // namespace holdfast
