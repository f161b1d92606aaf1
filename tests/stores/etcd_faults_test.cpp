// Goal: an etcd store keeps its word when leases, watches, members, rights and disks fail.
// Method: real servers, and etcdctl for what only an operator does. The rows of docs/faults.md are
// S22 to S28, N22 and R03.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "stores/etcd_operator.hpp"
#include "support/etcd/cluster.hpp"
#include "support/own_clock.hpp"
#include "support/peer.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

// The lease of the one claim that waits.
std::string new_lease(const EtcdServer& server, const std::vector<std::string>& before) {
  for (const std::string& lease : leases(server))
    if (std::ranges::count(before, lease) == 0) return lease;
  throw std::runtime_error("there is no new lease");
}

// Waits for a name, on a thread of its own.
class Waiter {
 public:
  Waiter(const Store& store, const std::string& name)
      : thread_([this, lock = store.lock(name)] {
          auto lease = lock.try_acquire_for(patient);
          EXPECT_TRUE(succeeded(lease));
          if (lease) lease_ = std::move(*lease);
          entered_ = true;
        }) {}
  bool entered() const { return entered_; }
  bool enters() const {
    return eventually([&] { return entered(); });
  }
  std::optional<Lease>& lease() {
    thread_.join();
    return lease_;
  }

 private:
  std::optional<Lease> lease_;
  std::atomic<bool> entered_ = false;
  std::jthread thread_;
};

class EtcdFaults : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<EtcdServer>(); }
  static void TearDownTestSuite() {
    server_.reset();
    locked_.reset();
  }
  // A server that asks for a password, and does not take long to check it.
  static EtcdServer& locked() {
    if (!locked_)
      locked_ = std::make_unique<EtcdServer>(
          EtcdOptions{.password = "secret", .arguments = {"--bcrypt-cost=4"}});
    return *locked_;
  }
  EtcdFaults() {
    if (!server.running()) server.start();
    server.clear();
  }
  // Moves the clock until a renewal is due, and waits for it.
  static testing::AssertionResult renewed(const Store& store, const Lease& lease) {
    const auto before = store.stats().renewed;
    jump(11s);
    eventually([&] { return store.stats().renewed > before || !lease.valid(); });
    if (lease.valid()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "it was lost";
  }

  EtcdServer& server = *server_;
  const std::string name = "the/name";

 private:
  static inline std::unique_ptr<EtcdServer> server_, locked_;
};

// ── leases and watches ───────────────────────────────────────────────────────────────────────────

// The holder is notified: with this ttl a renewal would find out only after minutes.
TEST_F(EtcdFaults, ARevokedLeaseIsALossAtOnce) {  // S22
  const auto alice = client(server.url());
  const auto lease = alice.lock(name, {.ttl = held_long}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  for (const std::string& id : leases(server)) server.ctl({"lease", "revoke", id});
  ASSERT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_EQ(alice.stats().renewed, 0U);
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(succeeded(take_at_once(client(server.url()), name)));
}

TEST_F(EtcdFaults, AWaiterWhoseLeaseWasRevokedGetsBackInLine) {  // S23
  const auto alice = client(server.url());
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  const auto before = leases(server);
  const auto bob = client(server.url());
  const Waiter waiter(bob, name);
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  server.ctl({"lease", "revoke", new_lease(server, before)});
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  EXPECT_FALSE(waiter.entered());
  ASSERT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(waiter.enters());
}

TEST_F(EtcdFaults, CompactionHidesNothing) {  // S24
  const auto alice = client(server.url());
  auto held = alice.lock(name).acquire();
  auto other = alice.lock("other").acquire();
  ASSERT_TRUE(succeeded(held));
  ASSERT_TRUE(succeeded(other));
  const auto bob = client(server.url());
  const Waiter waiter(bob, name);
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  for (int i = 0; i < 5; ++i) server.ctl({"put", "any", std::to_string(i)});
  server.ctl({"compaction", std::to_string(server.status().revision)});
  ASSERT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(waiter.enters());
  server.ctl({"del", "holdfast/1/locks/other/", "--prefix"});
  EXPECT_TRUE(eventually([&] { return other->lost().stop_requested(); }));
}

TEST_F(EtcdFaults, WatchesAreOpenedAgainAfterARestart) {
  const auto alice = client(server.url());
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  const auto bob = client(server.url());
  const Waiter waiter(bob, name);
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  server.restart();
  EXPECT_TRUE(held->valid());
  EXPECT_FALSE(waiter.entered());
  ASSERT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(waiter.enters());
}

// Its key is read again after that, at a revision that is not its own.
TEST_F(EtcdFaults, AHolderWhoseWatchBrokeCanStillLowerItsLease) {
  const EtcdServer other_server;
  const EtcdAdmin admin(other_server.port());
  const auto watchers = [&] { return admin.figure("etcd_debugging_mvcc_watcher_total "); };
  Proxy proxy(other_server.port());
  const auto alice = client("etcd://" + proxy.address());
  const auto lock = alice.rw_lock(name);
  auto lease = lock.write().acquire();
  ASSERT_TRUE(succeeded(lease));
  ASSERT_TRUE(eventually([&] { return watchers() == 1; }));
  proxy.reset();
  ASSERT_TRUE(eventually([&] { return watchers() == 0; }));
  other_server.ctl({"put", "another", "key"});
  ASSERT_TRUE(eventually([&] { return watchers() == 1; }));
  EXPECT_TRUE(succeeded(lock.downgrade(*lease)));
  EXPECT_TRUE(lease->valid());
}

// ── what the server refuses ──────────────────────────────────────────────────────────────────────

TEST_F(EtcdFaults, WithoutSpaceNothingIsTakenAndEverythingGivenBack) {  // S26
  const EtcdServer small({.arguments = {"--quota-backend-bytes=1048576"}});
  const auto alice = client(small.url());
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  const std::string much(100'000, 'x');
  ASSERT_TRUE(eventually([&] {
    try {
      small.ctl({"put", "filler", much});
      return false;
    } catch (const std::exception&) {
      return true;
    }
  }));
  const EtcdAdmin admin(small.port());
  const auto revocations = [&] {
    return admin.figure("grpc_server_started_total{grpc_method=\"LeaseRevoke\"");
  };
  const auto before = revocations();
  const auto refused = client(small.url()).lock("another").try_acquire();
  ASSERT_TRUE(failed(refused, Errc::unavailable));
  EXPECT_EQ(revocations(), before) << "a lease that was refused was revoked";
  EXPECT_EQ(refused.error().reason(), "no_space");
  EXPECT_NE(std::string(refused.error().what()).find("NOSPACE"), std::string::npos);
  EXPECT_TRUE(held->valid());
  EXPECT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(listed(alice, name).empty());
}

// A restarted server knows none of the tokens that it gave out.
TEST_F(EtcdFaults, AnExpiredTokenIsNoLoss) {  // S27
  const auto alice = client(locked().url());
  const auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  locked().restart();
  for (int round = 0; round < 4; ++round) ASSERT_TRUE(renewed(alice, *lease));
  EXPECT_TRUE(succeeded(alice.lock("another").acquire()));
}

// If nobody ever compacts it, a range passes every key that was ever there.
TEST_F(EtcdFaults, APastOfManyClaimsLeavesFewKeys) {
  const auto alice = client(server.url());
  std::set<std::string> keys;
  for (int round = 0; round < 20; ++round) {
    const auto lease = alice.lock(name).acquire();
    ASSERT_TRUE(succeeded(lease));
    keys.insert(server.ctl({"get", "--prefix", "--keys-only", "holdfast/1/locks/"}));
  }
  EXPECT_EQ(keys.size(), 1U);
}

// Whichever allocation of a login fails, the next call logs in.
TEST_F(EtcdFaults, ALoginWithoutMemoryIsMadeUpFor) {  // R03
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    ASSERT_LT(nth, 400);
    Peer peer(locked().url());
    const std::string first = name + std::to_string(nth);
    const auto answer = peer.ask("starve " + std::to_string(nth) + " " + first + " wait=300");
    ASSERT_NO_THROW(peer.acquire(first + "/next", "wait=" + std::to_string(patient.count())))
        << "after " << answer;
    if (answer.ends_with("unharmed")) break;
  }
}

TEST_F(EtcdFaults, AWrongPasswordIsDeniedAndNotShown) {
  for (const std::string user : {"root:wrong-one@", ""}) {
    const auto refused = client("etcd://" + user + locked().address()).lock(name).try_acquire();
    ASSERT_TRUE(failed(refused, Errc::denied));
    EXPECT_EQ(std::string(refused.error().what()).find("wrong-one"), std::string::npos);
  }
  locked().ctl({"user", "add", "guest:guest"});
  const auto refused = client("etcd://guest:guest@" + locked().address()).lock(name).try_acquire();
  ASSERT_TRUE(failed(refused, Errc::denied));
  EXPECT_EQ(refused.error().reason(), "permission");
}

TEST_F(EtcdFaults, ARevisionThatWentBackIsNoGrant) {  // S28
  const TempFolder kept;
  const auto alice = client(server.url());
  ASSERT_TRUE(succeeded(alice.lock(name).acquire()));
  server.kill();
  std::filesystem::copy(server.data(), kept.path() / "data",
                        std::filesystem::copy_options::recursive);
  server.start();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(succeeded(alice.lock(name).acquire()));
  server.kill();
  std::filesystem::remove_all(server.data());
  std::filesystem::copy(kept.path() / "data", server.data(),
                        std::filesystem::copy_options::recursive);
  server.start();
  const auto refused = alice.lock(name).acquire();
  ASSERT_TRUE(failed(refused, Errc::corrupt));
  EXPECT_EQ(refused.error().reason(), "fencing_regressed");
}

TEST_F(EtcdFaults, TlsAsksForTheRightCertificates) {
  const EtcdServer strict({.tls = authority().issue(loopback_names), .client_certificate = true});
  const auto mine = authority().issue(loopback_names);
  const auto ours = "cert=" + mine.file + "&key=" + mine.key;
  EXPECT_TRUE(succeeded(client(strict.url() + "&" + ours).lock(name).acquire()));
  const auto refused_with = [&](const Store& store, const std::string& reason) {
    return eventually([&] {  // On a slow machine it may take several tries to hear of it.
      const auto refused = store.lock(name, {.wait = shortly}).acquire();
      EXPECT_FALSE(refused);
      return !refused && refused.error().errc() == Errc::unavailable &&
             (reason.empty() || refused.error().reason() == reason);
    });
  };
  EXPECT_TRUE(refused_with(client(strict.url()), ""));
  EXPECT_TRUE(refused_with(client("etcds://" + strict.address() + "?" + ours), "tls"));
  EXPECT_TRUE(succeeded(
      client("etcds://" + strict.address() + "?insecure=on&" + ours).lock(name).acquire()));
}

TEST_F(EtcdFaults, ADeadServerIsUnavailableAndOwedNothing) {
  const auto alice = client(server.url());
  server.kill();
  const auto refused = alice.lock(name, {.wait = 500ms}).acquire();
  ASSERT_TRUE(failed(refused, Errc::unavailable));
  EXPECT_EQ(alice.stats().debts, 0U);
}

// ── members ──────────────────────────────────────────────────────────────────────────────────────

TEST_F(EtcdFaults, TheDeathOfALeaderIsNoLoss) {  // S25
  EtcdCluster cluster({.heartbeat = 50ms, .election = 500ms});
  const auto alice = client(cluster.url());
  const auto bob = client(cluster.url());
  auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  const Waiter waiter(bob, name);
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  cluster.leader().kill();
  for (int round = 0; round < 3; ++round) ASSERT_TRUE(renewed(alice, *lease));
  EXPECT_FALSE(waiter.entered());
  ASSERT_TRUE(succeeded(lease->release()));
  EXPECT_TRUE(waiter.enters());
}

TEST_F(EtcdFaults, AMemberWithoutAMajorityIsLeftForAnother) {  // N22
  EtcdCluster cluster({.heartbeat = 50ms, .election = 500ms}, Links::proxied);
  auto& first = *cluster.nodes().front();
  const auto alice = client(cluster.url());  // It asks the first of them.
  const auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  cluster.cut(first);
  for (int round = 0; round < 3; ++round) ASSERT_TRUE(renewed(alice, *lease));
  EXPECT_TRUE(succeeded(alice.lock("another").acquire()));
}

class EtcdFaultsClock : public testing::Test {
 protected:
  const std::string name = "the/name";
};

// It goes on answering keep-alives, but they do not count: the others have elected another leader,
// and let the lease end.
TEST_F(EtcdFaultsClock, ALeaderWhoseDiskStallsProvesNothing) {
  // Timeouts so long that a busy machine causes no election: each gives the lease its full time.
  EtcdCluster cluster({.heartbeat = 100ms, .election = 1500ms});
  auto& leader = cluster.leader();
  std::string others;
  for (const auto& node : cluster.nodes())
    if (node.get() != &leader) others += (others.empty() ? "etcd://" : ",") + node->address();
  const auto alice = client("etcd://" + leader.address());
  const auto bob = client(others);
  const auto lease = alice.lock(name, {.ttl = 6s, .margin = 2s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  std::atomic<bool> told = false;
  const std::stop_callback on_loss(lease->lost(), [&] { told = true; });
  ASSERT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
  leader.stall_disk();
  const auto next = bob.lock(name).try_acquire_for(2 * patient);
  ASSERT_TRUE(succeeded(next));
  EXPECT_TRUE(told);
  EXPECT_FALSE(lease->valid());
  leader.resume_disk();
}

}  // namespace
}  // namespace holdfast
