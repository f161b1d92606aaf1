// Goal: never two inside. Method: many contenders and a Witness, which notices any two at once and
// knows nothing of holdfast. It counts visits, so a run in which nobody entered fails.

#include <thread>
#include <vector>

#include "support/files.hpp"
#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/witness.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace support;

class Exclusion : public Conformance {};
HOLDFAST_ON_EVERY_STORE(Exclusion);

// Visits under the lock, `rounds` times on each of `threads` threads; true if all were alone.
bool visit_together(const Lock& lock, const Witness& witness, int threads, int rounds) {
  std::atomic<bool> clean = true;
  std::vector<std::jthread> all;
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        auto lease = lock.acquire();
        if (!lease || !witness.visit()) clean = false;
      }
    });
  }
  all.clear();
  return clean;
}

TEST_P(Exclusion, TheWitnessSeesTwoThatAreInsideAtOnce) {
  const TempFolder folder;
  const Witness witness(folder.path());
  std::atomic<bool> intruder = false;
  EXPECT_TRUE(eventually([&] {
    std::vector<std::jthread> both;
    for (int thread = 0; thread < 2; ++thread) {
      both.emplace_back([&] {
        for (int round = 0; round < 100; ++round)
          if (!witness.visit()) intruder = true;
      });
    }
    both.clear();
    return intruder.load();
  }));
}

TEST_P(Exclusion, OfThreadsOfOneClient) {
  const TempFolder folder;
  const Witness witness(folder.path());
  const auto lock = world.client().lock(name);
  EXPECT_TRUE(visit_together(lock, witness, 8, scaled(500)));
  EXPECT_EQ(witness.visits(), 8 * scaled(500));
}

TEST_P(Exclusion, OfThreadsOfSeveralClients) {
  const TempFolder folder;
  const Witness witness(folder.path());
  std::atomic<bool> clean = true;
  {
    std::vector<std::jthread> clients;
    for (int client = 0; client < 4; ++client) {
      clients.emplace_back([&] {
        if (!visit_together(world.client().lock(name), witness, 2, scaled(250))) clean = false;
      });
    }
  }
  EXPECT_TRUE(clean);
  EXPECT_EQ(witness.visits(), 4 * 2 * scaled(250));
}

TEST_P(Exclusion, OfProcesses) {
  HOLDFAST_NEEDS(processes);
  const TempFolder folder;
  const Witness witness(folder.path());
  const int rounds = scaled(500);
  std::vector<std::unique_ptr<Peer>> peers;
  for (int peer = 0; peer < 4; ++peer) peers.push_back(std::make_unique<Peer>(world.url()));
  for (auto& peer : peers)
    peer->send("visit " + name + " " + folder.path().string() + " " + std::to_string(rounds));
  EXPECT_TRUE(visit_together(world.client().lock(name), witness, 2, rounds));
  for (auto& peer : peers) EXPECT_EQ(peer->read(), "clean");
  EXPECT_EQ(witness.visits(), 6 * rounds);
}

// A third of the processes dies inside or on the way in; the others never meet nor wait for ever.
TEST_P(Exclusion, OfProcessesOfWhichSomeAreKilled) {
  HOLDFAST_NEEDS(processes);
  const TempFolder folder;
  const Witness witness(folder.path());
  const int rounds = scaled(200);
  const auto visit = "visit " + name + " " + folder.path().string() + " ";
  std::vector<std::unique_ptr<Peer>> peers;
  for (int peer = 0; peer < 3; ++peer) peers.push_back(std::make_unique<Peer>(world.url()));
  Peer& doomed = *peers.back();
  for (auto& peer : peers)
    peer->send("beside " + visit + std::to_string(peer.get() == &doomed ? 1 << 20 : rounds));
  ASSERT_TRUE(eventually([&] { return witness.visits() > rounds / 4; }));
  doomed.kill();
  int woken = 0;
  EXPECT_TRUE(world.bury(doomed.pid(), name, [&] {
    ++woken;
    for (const auto& peer : peers)
      if (peer.get() != &doomed) peer->send("jump " + std::to_string(past_asking.count()));
  }));
  peers.pop_back();
  for (auto& peer : peers) {
    std::vector<std::string> answers(static_cast<std::size_t>(woken) + 1);
    for (auto& answer : answers) answer = peer->read();
    EXPECT_EQ(std::ranges::count(answers, "clean"), 1);
  }
  EXPECT_GE(witness.visits(), 2 * rounds);
}

TEST_P(Exclusion, OneNameDoesNotExcludeAnother) {
  const auto alice = world.client();
  const auto bob = world.client();
  const auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));  // The lock is really held.
  EXPECT_TRUE(succeeded(bob.lock(name + "/other").try_acquire()));
}

TEST_P(Exclusion, BusySaysWhoHoldsIt) {
  const auto alice = world.client();
  const auto bob = world.client();
  const auto held = alice.lock(name, {.label = "the night shift"}).acquire();
  ASSERT_TRUE(succeeded(held));
  const auto refused = bob.lock(name).try_acquire();
  ASSERT_TRUE(failed(refused, Errc::busy));
  if (const auto* holder = refused.error().holder()) {
    EXPECT_NE(holder->who.find("the night shift"), std::string::npos) << holder->who;
    EXPECT_EQ(holder->token, held->token());
  }
}

TEST_P(Exclusion, OnlyTheHandleReleases) {
  const auto alice = world.client();
  const auto bob = world.client();
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  bob.lock(name).unlock();    // Neither another client
  alice.lock(name).unlock();  // nor the same one, by thread, releases a handle.
  EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
  EXPECT_TRUE(held->valid());

  Lease moved = std::move(*held);
  EXPECT_EQ(held->token(), Token{});
  EXPECT_FALSE(held->valid());
  EXPECT_TRUE(succeeded(held->release()));  // Moved from, so there is nothing to do.
  EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));

  std::jthread([&] { EXPECT_TRUE(succeeded(moved.release())); }).join();  // Any thread may.
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
  EXPECT_TRUE(succeeded(moved.release()));  // A second release does nothing.
}

TEST_P(Exclusion, AssigningALeaseReleasesTheOneItReplaces) {
  const auto alice = world.client();
  const auto bob = world.client();
  auto lease = alice.lock(name).acquire().value();
  lease = alice.lock(name + "/other").acquire().value();
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
  EXPECT_TRUE(failed(bob.lock(name + "/other").try_acquire(), Errc::busy));
}

}  // namespace
}  // namespace holdfast
