// Goal: a waiter is woken, in its turn, and does not have to ask again and again.

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <stop_token>
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

class Waiting : public Conformance {};
HOLDFAST_ON_EVERY_STORE(Waiting);

// With a ttl of twenty minutes a waiter asks again after ten, so anything sooner was a message.
TEST_P(Waiting, IsEndedByTheReleaseOfAnotherClient) {
  HOLDFAST_NEEDS(notifies);
  const auto alice = world.client();
  const auto bob = world.client();
  for (int round = 0; round < 10; ++round) {
    auto held = alice.lock(name, {.ttl = held_long}).acquire();
    ASSERT_TRUE(succeeded(held));
    std::atomic<bool> granted = false;
    std::jthread waiter([&] {
      granted = bob.lock(name, {.ttl = held_long}).try_acquire_for(2 * patient).has_value();
    });
    ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
    EXPECT_FALSE(granted);
    ASSERT_TRUE(succeeded(held->release()));
    ASSERT_TRUE(eventually([&] { return granted.load(); }));
  }
}

TEST_P(Waiting, IsEndedByTheReleaseOfAnotherProcess) {
  HOLDFAST_NEEDS(notifies);
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  const auto ttl = "ttl=" + std::to_string(held_long.count());
  Peer first(world.url()), second(world.url());
  for (int round = 0; round < 5; ++round) {
    first.acquire(name, ttl);
    second.start_acquire(name, ttl);
    ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
    EXPECT_EQ(first.ask("release " + name), "released");
    second.acquired();
    EXPECT_EQ(second.ask("release " + name), "released");
  }
}

// Also if the store grants a short lease until the waiter asks.
TEST_P(Waiting, EndsWithALeaseThatLasts) {
  const auto alice = world.client({}, "handover=off");
  const auto bob = world.client({}, "handover=off");
  // Its margin leaves a little of a grant of two seconds, but less than a third.
  const auto its = bob.lock(name, {.ttl = 28s});
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  std::optional<Lease> lease;
  {
    std::jthread waiter([&] {
      auto granted = its.try_acquire_for(2 * patient);
      if (granted) lease.emplace(std::move(*granted));
    });
    EXPECT_TRUE(eventually([&] { return waiting(alice, name) == 1 || !world.traits().queues; }));
    EXPECT_TRUE(succeeded(held->release()));
  }
  ASSERT_TRUE(lease);
  EXPECT_GT(lease->left(), its.ttl() / 3);
  EXPECT_TRUE(world.renewed(*lease, bob));
}

// Three clients pass it round: each release grants the next in the store, with one message each.
TEST_P(Waiting, CostsTheStoreAFewCallsAHandover) {
  HOLDFAST_NEEDS(notifies);
  HOLDFAST_NEEDS(queues);
  const int rounds = 60;
  std::vector<std::unique_ptr<FaultyClient>> clients;
  for (int client = 0; client < 3; ++client)
    clients.push_back(std::make_unique<FaultyClient>(world.url("handover=off")));
  {
    std::vector<std::jthread> threads;
    for (auto& client : clients) {
      threads.emplace_back([&, lock = client->store().lock(name)] {
        for (int round = 0; round < rounds; ++round) EXPECT_TRUE(succeeded(lock.acquire()));
      });
    }
  }
  int calls = 0;
  for (auto& client : clients) calls += client->seen(changes);
  EXPECT_LE(calls, 6 * 3 * rounds);
}

TEST_P(Waiting, SurvivesLostMessages) {
  FaultyClient alice(world.url());
  const auto bob = world.client();
  auto held = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  alice.lose_hints(true);
  std::atomic<bool> granted = false;
  std::jthread waiter(
      [&] { granted = alice.store().lock(name, {.ttl = 15s}).acquire().has_value(); });
  ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1 || !world.traits().queues; }));
  ASSERT_TRUE(succeeded(held->release()));
  jump(10s);  // More than half of its ttl ± 25 %, so it asks again.
  EXPECT_TRUE(eventually([&] { return granted.load(); }));
}

// A store that knows that it missed messages says so once, and nobody waits for the next ask.
TEST_P(Waiting, AsksAgainEverywhereWhereMessagesWereMissed) {
  HOLDFAST_NEEDS(notifies);
  FaultyClient alice(world.url());
  const auto bob = world.client();
  const std::array names{name + "/1", name + "/2", name + "/3"};
  std::vector<Lease> held;
  for (const auto& each : names) held.push_back(bob.lock(each).acquire().value());
  std::atomic<int> granted = 0;
  std::vector<std::jthread> waiters;
  for (const auto& each : names)
    waiters.emplace_back([&, lock = alice.store().lock(each, {.ttl = held_long})] {
      granted += lock.try_acquire_for(2 * patient).has_value() ? 1 : 0;
    });
  for (const auto& each : names) {
    ASSERT_TRUE(eventually([&] { return waiting(bob, each) == 1 || !world.traits().queues; }));
    // Answered after the ask of the waiter in line, so that no release becomes its answer.
    ASSERT_TRUE(failed(alice.store().lock(each).try_acquire(), Errc::busy));
  }
  alice.lose_hints(true);
  for (auto& lease : held) ASSERT_TRUE(succeeded(lease.release()));
  const int asked = alice.seen(asks);
  alice.tell_of_lost_hints();
  EXPECT_TRUE(eventually([&] { return granted == 3; }));
  EXPECT_GE(alice.seen(asks), asked + 3);
}

// The first in line reads its own grant, which saves a hop. The others sleep, so that a message
// does not wake them all.
TEST_P(Waiting, OneThreadReadsTheMessages) {
  HOLDFAST_NEEDS(notifies);
  HOLDFAST_NEEDS(queues);
  FaultyClient alice(world.url());
  const auto bob = world.client();
  const std::array names{name + "/1", name + "/2", name + "/3"};
  std::vector<Lease> held;
  for (const auto& each : names) held.push_back(bob.lock(each).acquire().value());
  std::stop_source stop;
  const auto wait_at = [&](const std::string& each, Errc expected) {
    return std::jthread([&, expected, lock = alice.store().lock(each, {.ttl = held_long})] {
      const auto lease = lock.acquire(stop.get_token());
      EXPECT_TRUE(expected == Errc{} ? succeeded(lease) : failed(lease, expected));
    });
  };
  {
    const auto leaver = wait_at(names[0], Errc::cancelled);
    ASSERT_TRUE(eventually([&] { return alice.readers() == 1; }));
    const auto other = wait_at(names[1], Errc::cancelled);
    ASSERT_TRUE(eventually([&] { return waiting(bob, names[1]) == 1; }));
    ASSERT_TRUE(eventually([&] { return alice.readers() == 1; }));
    stop.request_stop();
  }
  EXPECT_TRUE(eventually([&] { return alice.readers() == 1; }));
  stop = std::stop_source();
  std::vector<std::jthread> waiters;
  for (const auto& each : names) waiters.push_back(wait_at(each, Errc{}));
  ASSERT_TRUE(eventually([&] { return alice.readers() == 1; }));
  for (auto& lease : held) ASSERT_TRUE(succeeded(lease.release()));
  waiters.clear();
  EXPECT_TRUE(eventually([&] { return alice.readers() == 1; }));
}

TEST_P(Waiting, IsServedInOrderOfComing) {
  HOLDFAST_NEEDS(queues);
  const auto alice = world.client({}, "handover=off");
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  std::vector<int> order;  // written by the lock's holder
  std::mutex mutex;        // for C++, which does not see the lock in the store
  std::vector<std::jthread> waiters;
  for (int waiter = 0; waiter < 6; ++waiter) {
    waiters.emplace_back([&, waiter, client = world.client({}, "handover=off")] {
      const auto lease = client.lock(name).acquire();
      ASSERT_TRUE(succeeded(lease));
      const std::lock_guard guard(mutex);
      order.push_back(waiter);
    });
    ASSERT_TRUE(eventually([&] { return waiting(alice, name) == waiter + 1; }));
  }
  ASSERT_TRUE(succeeded(held->release()));
  waiters.clear();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4, 5}));
}

TEST_P(Waiting, OfProcessesIsServedInOrderOfComing) {
  HOLDFAST_NEEDS(queues);
  HOLDFAST_NEEDS(processes);
  HOLDFAST_NEEDS(tokens);
  const auto alice = world.client({}, "handover=off");
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  std::vector<std::unique_ptr<Peer>> peers;
  for (int peer = 0; peer < 4; ++peer) {
    peers.push_back(std::make_unique<Peer>(world.url("handover=off")));
    peers.back()->start_acquire(name);
    ASSERT_TRUE(eventually([&] { return waiting(alice, name) == peer + 1; }));
  }
  Token last = held->token();
  ASSERT_TRUE(succeeded(held->release()));
  for (auto& peer : peers) {
    const auto token = peer->acquired();
    EXPECT_GT(token, last);
    last = token;
    EXPECT_EQ(peer->ask("release " + name), "released");
  }
}

// One client holds it, and eight more of its threads want it, all after another client joined the
// line. Returns how many of them enter before that client.
int overtakes(const World& world, const std::string& name, std::string_view handover) {
  const auto greedy = world.client({}, handover);
  const auto modest = world.client({}, handover);
  auto held = greedy.lock(name).acquire();
  EXPECT_TRUE(succeeded(held));

  std::atomic<bool> entered = false;
  std::jthread waiter([&] {
    const auto lease = modest.lock(name).acquire();
    EXPECT_TRUE(succeeded(lease));
    entered = true;
  });
  EXPECT_TRUE(eventually([&] { return waiting(greedy, name) == 1; }));

  std::atomic<int> before = 0, started = 0;
  std::vector<std::jthread> crowd;
  for (int thread = 0; thread < 8; ++thread) {
    crowd.emplace_back([&] {
      ++started;
      while (!entered) {
        const auto lease = greedy.lock(name).acquire();
        if (lease && !entered) ++before;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return started == 8; }));
  EXPECT_TRUE(succeeded(held->release()));
  waiter.join();
  return before;
}

TEST_P(Waiting, IsNotOvertakenWhereHandoverIsOff) {
  HOLDFAST_NEEDS(queues);
  for (int round = 0; round < 5; ++round) EXPECT_EQ(overtakes(world, name, "handover=off"), 0);
}

TEST_P(Waiting, IsOvertakenByOneProcessWithinTheBoundOnly) {
  HOLDFAST_NEEDS(queues);
  for (int round = 0; round < 5; ++round) EXPECT_LE(overtakes(world, name, "handover=5"), 5);
  for (int round = 0; round < 3; ++round)
    EXPECT_LE(overtakes(world, name, ""), static_cast<int>(world.traits().handovers));
}

// Dead waiters hold up the line no longer than they could have held the lock.
TEST_P(Waiting, SkipsTheDead) {
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  Peer doomed(world.url()), survivor(world.url());
  doomed.start_acquire(name);
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1 || !world.traits().queues; }));
  survivor.send("beside acquire " + name);
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 2 || !world.traits().queues; }));
  doomed.kill();
  ASSERT_TRUE(succeeded(held->release()));
  const auto wake = "jump " + std::to_string(past_asking.count());
  int woken = 0;
  ASSERT_TRUE(world.bury(doomed.pid(), name, [&] {
    survivor.send(wake);
    ++woken;
  }));
  std::string answer;
  for (int line = 0; line <= woken; ++line)
    if (const auto said = survivor.read(); said != "ok") answer = said;
  EXPECT_EQ(answer.substr(0, 5), "held ");
  EXPECT_EQ(survivor.ask("valid " + name), "yes");
}

// Without a line and messages, a waiter asks again at the pace that the user chose.
TEST_P(Waiting, WithoutMessagesAsksAgainAtTheChosenPace) {
  const auto bob = world.client();
  std::atomic<int> asked = 0;
  const auto own = [&](std::uint32_t attempt, std::uint64_t) {
    EXPECT_GE(attempt, 1U);
    ++asked;
    return std::chrono::microseconds(500);
  };
  for (const NextDelay& pace : {NextDelay(), NextDelay(own), spin(), spin_then_sleep(10, 1ms),
                                sleep(2ms), decorrelated_jitter(1ms, 20ms)}) {
    FaultyClient alice(world.url(), {.next_delay = pace}, {.queues = false, .notifies = false});
    auto held = bob.lock(name).acquire();
    ASSERT_TRUE(succeeded(held));
    std::jthread waiter([&] { EXPECT_TRUE(succeeded(alice.store().lock(name).acquire())); });
    ASSERT_TRUE(eventually([&] { return alice.seen(asks) >= 3; }));
    EXPECT_TRUE(failed(alice.store().lock(name).try_acquire(), Errc::busy));
    ASSERT_TRUE(succeeded(held->release()));
    waiter.join();
    EXPECT_TRUE(world.nothing_left(name));
  }
  EXPECT_GT(asked, 0);
}

// It is called with no mutex held, so it may do what any user code may: here it ends the wait.
TEST_P(Waiting, TheChosenPaceMayEndItsOwnWait) {
  const auto bob = world.client();
  const auto held = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  std::stop_source stop;
  std::atomic<int> asked = 0;
  const auto pace = [&](std::uint32_t, std::uint64_t) {
    if (++asked == 2) stop.request_stop();
    return 1ms;
  };
  FaultyClient alice(world.url(), {.next_delay = pace}, {.queues = false, .notifies = false});
  EXPECT_TRUE(failed(alice.store().lock(name).acquire(stop.get_token()), Errc::cancelled));
  EXPECT_GE(asked, 2);
}

TEST_P(Waiting, AnUnfairAskMayBeGrantedBeforeOthers) {
  const auto alice = world.client();
  const auto bob = world.client();
  for (int round = 0; round < 20; ++round) {
    const auto lease = (round % 2 == 0 ? alice : bob).lock(name, {.fair = false}).acquire();
    EXPECT_TRUE(succeeded(lease));
  }
}

class WaitingClock : public Waiting {};
HOLDFAST_ON_EVERY_STORE(WaitingClock);

// A waiter outlasts its patience as long as the store answers, and goes on waiting.
TEST_P(WaitingClock, LastsLongerThanPatienceWhereTheStoreAnswers) {
  const auto alice = world.client({.patience = 3s});
  const auto bob = world.client();
  const auto held = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(failed(alice.lock(name).try_acquire_for(6s), Errc::busy));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 5900ms);
}

}  // namespace
}  // namespace holdfast
