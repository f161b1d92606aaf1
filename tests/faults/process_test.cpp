// The process faults of docs/faults.md (P) that show at the level of the API.
// Elsewhere: P10 in fork_test, P12 in events_test, P16 in exclusion_test, P17 in reentry_test.

#include <sys/wait.h>

#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include "faults/outlives.hpp"
#include "support/faulty.hpp"
#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class ProcessFaults : public Conformance {
 protected:
  // Stands in line behind killed processes, while the store ends their claims one by one, or all at
  // once if its clock decides.
  Result<Lease> wait_behind_the_dead(const Store& store) {
    const auto bob = world.client();
    const auto dead = listed(bob, name).size();
    auto lease = std::async(std::launch::async, [&] { return store.lock(name).acquire(); });
    const auto got = [&](Millis within) {
      return lease.wait_for(within) == std::future_status::ready;
    };
    EXPECT_TRUE(eventually([&] { return got(0ms) || listed(bob, name).size() > dead; }));
    for (int turns = 0; turns < 200 && !got(0ms); ++turns) {
      const auto before = listed(bob, name).size();
      if (before > 1) world.end_holder(name);
      const auto told = [&] { return got(0ms) || listed(bob, name).size() < before; };
      // Long enough to ask again, and too short to lose a lease that it may have by now.
      if (!eventually(told, 200ms)) jump(20s);
    }
    if (!got(0ms)) (void)store.close(0ms);
    return lease.get();
  }
};
HOLDFAST_ON_EVERY_STORE(ProcessFaults);

TEST_P(ProcessFaults, P01KilledHolder) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  Peer peer(world.url());
  const auto killed = peer.acquire(name);
  peer.kill();
  {
    const auto lease = wait_behind_the_dead(alice);
    ASSERT_TRUE(succeeded(lease));
    if (world.traits().tokens) {
      EXPECT_GT(lease->token(), killed);
    }
    EXPECT_EQ(listed(alice, name).size(), 1U);
  }
  EXPECT_TRUE(world.nothing_left(name));
}

TEST_P(ProcessFaults, P01KilledInARowOfWaiters) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  std::vector<std::unique_ptr<Peer>> peers;
  for (int peer = 0; peer < 4; ++peer) {
    peers.push_back(std::make_unique<Peer>(world.url()));
    peers.back()->start_acquire(name);
  }
  ASSERT_TRUE(
      eventually([&] { return listed(alice, name).size() == 4 || !world.traits().queues; }));
  for (auto& peer : peers) peer->kill();
  EXPECT_TRUE(succeeded(wait_behind_the_dead(alice)));
  EXPECT_TRUE(world.nothing_left(name));
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
  EXPECT_TRUE(world.nothing_left(name));
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
  lease.reset();
  EXPECT_EQ(alice.injected(), 1);
  EXPECT_EQ(alice.unanswered(), 1) << "it waited for the end of its request";
  alice.heal();
  jump(6s);  // A request times out after 5 s and is sent again.
  EXPECT_TRUE(succeeded(take_at_once(world.client(), name)));
}

TEST_P(ProcessFaults, P15StaticHandleAndExit) {
  for (const auto* how : {"exit", "quick_exit"}) {
    SCOPED_TRACE(how);
    Peer peer(world.url());
    peer.acquire(name);
    peer.acquire(name + "/2");
    peer.send(how);
    const auto status = peer.wait();
    ASSERT_TRUE(status.has_value());
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << *status;
    if (!world.traits().processes) continue;
    const auto alice = world.client();
    for (const auto& each : {name, name + "/2"}) {
      if (holding(alice, each) > 0) world.end_holder(each);
      EXPECT_TRUE(succeeded(take_at_once(alice, each)));
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

// Many leases are due for renewal at the same time and are released just then: none comes back.
TEST_P(ProcessFaults, P18RenewalInFlightWhileReleasing) {
  FaultyClient alice(world.url());
  const auto bob = world.client();
  for (int round = 0; round < scaled(10); ++round) {
    std::vector<Lease> leases;
    for (int number = 0; number < 40; ++number)
      leases.push_back(alice.store().lock("p18/" + std::to_string(number)).acquire().value());
    const int before = alice.seen(keeping);
    jump(past_renewal);
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
  const auto lease = bob.lock("p18/0").acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_TRUE(outlives_its_ttl(*lease, world));
  EXPECT_EQ(alice.seen(renewals), renewed);  // Nothing is left to renew.
  EXPECT_EQ(bob.list("p18/").value().size(), 1U);
}

}  // namespace
}  // namespace holdfast
