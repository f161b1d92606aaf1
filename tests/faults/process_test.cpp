// The process faults of the fault catalogue (P) that show at the level of the API.
// Elsewhere: P10 in fork_test, P12 in events_test, P16 in exclusion_test, P17 in reentry_test.

#include <sys/wait.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/faulty.hpp"
#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class ProcessFaults : public Conformance {};
HOLDFAST_ON_EVERY_STORE(ProcessFaults);

TEST_P(ProcessFaults, P01KilledHolder) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  Peer peer(world.url());
  const auto killed = peer.acquire(name, "ttl=1500");
  peer.kill();
  {
    const auto lease = alice.lock(name).acquire();
    ASSERT_TRUE(succeeded(lease));
    if (world.traits().tokens) {
      EXPECT_GT(lease->token(), killed);
    }
    EXPECT_EQ(listed(alice, name).size(), 1U);
  }
  EXPECT_TRUE(eventually([&] { return alice.list().value().empty(); }));
}

TEST_P(ProcessFaults, P01KilledInARowOfWaiters) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  std::vector<std::unique_ptr<Peer>> peers;
  for (int peer = 0; peer < 4; ++peer) {
    peers.push_back(std::make_unique<Peer>(world.url()));
    peers.back()->start_acquire(name, "ttl=1500");
  }
  ASSERT_TRUE(
      eventually([&] { return listed(alice, name).size() == 4 || !world.traits().queues; }));
  for (auto& peer : peers) peer->kill();
  EXPECT_TRUE(succeeded(alice.lock(name).acquire()));
  EXPECT_TRUE(eventually_nothing_left(alice, name));
}

TEST_P(ProcessFaults, P11ExceptionInTheGuardedScope) {
  FaultyClient alice(world.url());
  try {
    const auto lease = alice.store().lock(name).acquire().value();
    throw std::out_of_range("the work's own");
  } catch (const std::out_of_range& error) {
    EXPECT_STREQ(error.what(), "the work's own");
  }
  EXPECT_EQ(alice.seen(releases), 1);
  EXPECT_TRUE(succeeded(take_at_once(world.client(), name)));
}

TEST_P(ProcessFaults, P13ThreadThatEndsWithAHandle) {
  const auto alice = world.client();
  std::thread([&] {
    thread_local std::optional<Lease> lease;
    lease = alice.lock(name, {.ttl = held_long}).acquire().value();
  }).join();
  EXPECT_TRUE(succeeded(take_at_once(world.client(), name)));
  EXPECT_TRUE(eventually_nothing_left(alice, name));
}

// A thread that took it by lock() and ended cannot unlock it any more; close() can.
TEST_P(ProcessFaults, P13ThreadThatEndsWithoutUnlocking) {
  const auto alice = world.client();
  std::thread([&] { alice.lock(name).lock(); }).join();
  EXPECT_FALSE(alice.lock(name).try_lock());
  ASSERT_TRUE(succeeded(alice.close(patient)));
  EXPECT_TRUE(succeeded(take_at_once(world.client(), name)));
}

TEST_P(ProcessFaults, P14DestructorWhileTheStoreIsSilent) {
  FaultyClient alice(world.url(), {.release_deadline = 300ms});
  auto lease = std::make_optional(alice.store().lock(name, {.ttl = held_long}).acquire().value());
  alice.inject({.fault = Fault::silence, .count = for_good});
  const auto start = std::chrono::steady_clock::now();
  lease.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 4s);  // The request itself would take 5 s.
  EXPECT_GT(alice.injected(), 0);
  alice.heal();
  EXPECT_TRUE(succeeded(take_at_once(world.client(), name)));
}

TEST_P(ProcessFaults, P15StaticHandleAndExit) {
  for (const auto* how : {"exit", "quick_exit"}) {
    SCOPED_TRACE(how);
    Peer peer(world.url());
    peer.acquire(name, "ttl=1500");
    peer.acquire(name + "/2", "ttl=1500");
    peer.send(how);
    const auto status = peer.wait();
    ASSERT_TRUE(status.has_value());
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << *status;
    if (world.traits().processes) {
      EXPECT_TRUE(succeeded(world.client().lock(name).acquire()));
      EXPECT_TRUE(succeeded(world.client().lock(name + "/2").acquire()));
    }
  }
}

TEST_P(ProcessFaults, P15EndOfMainReleasesAtOnce) {
  HOLDFAST_NEEDS(processes);
  Peer peer(world.url());
  peer.acquire(name, "ttl=" + std::to_string(held_long.count()));
  peer.close_input();
  const auto status = peer.wait();
  ASSERT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
  EXPECT_TRUE(succeeded(take_at_once(world.client(), name)));
}

// Many leases are due for renewal at the same time, and are released then: none comes back.
TEST_P(ProcessFaults, P18RenewalInFlightWhileReleasing) {
  FaultyClient alice(world.url());
  const auto bob = world.client();
  for (int round = 0; round < scaled(10); ++round) {
    std::vector<Lease> leases;
    for (int number = 0; number < 40; ++number)
      leases.push_back(
          alice.store().lock("p18/" + std::to_string(number), {.ttl = 1500ms}).acquire().value());
    const int before = alice.seen(keeping);
    ASSERT_TRUE(eventually([&] { return alice.seen(keeping) > before; }));
    std::vector<std::jthread> threads;
    for (std::size_t part = 0; part < 4; ++part) {
      threads.emplace_back([&, part] {
        for (std::size_t index = part; index < leases.size(); index += 4)
          (void)leases[index].release();
      });
    }
    threads.clear();
    ASSERT_TRUE(eventually([&] { return bob.list("p18/").value().empty(); }));
  }
  const int renewed = alice.seen(renewals);
  EXPECT_TRUE(succeeded(bob.lock("p18/0", {.ttl = 1500ms}).acquire()));
  EXPECT_EQ(alice.seen(renewals), renewed);  // Nothing is left to renew.
  EXPECT_TRUE(bob.list("p18/").value().empty());
}

}  // namespace
}  // namespace holdfast
