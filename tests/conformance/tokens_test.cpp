// Goal: the tokens of one name strictly increase in the order of its grants, however the previous
// one ended.

#include <functional>
#include <mutex>
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

class Tokens : public Conformance {};
HOLDFAST_ON_EVERY_STORE(Tokens);

TEST_P(Tokens, AreZeroWhereTheStoreMintsNone) {
  const auto lease = world.client().lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_EQ(lease->token() != Token{}, world.traits().tokens);
  EXPECT_LT(lease->token().value, 1ULL << 63);
  FaultyClient without(world.url(), {}, {.tokens = false});
  EXPECT_EQ(without.store().lock(name + "/2").acquire().value().token(), Token{});
}

TEST_P(Tokens, GrowOverReleases) {
  HOLDFAST_NEEDS(tokens);
  const auto alice = world.client();
  const auto bob = world.client();
  Token last;
  for (int round = 0; round < 50; ++round) {
    const auto lease = (round % 3 == 0 ? alice : bob).lock(name).acquire();
    ASSERT_TRUE(succeeded(lease));
    EXPECT_GT(lease->token(), last);
    last = lease->token();
  }
}

// Written while inside, so the list is in the order of the grants.
TEST_P(Tokens, GrowOverHandoversInAndBetweenClients) {
  HOLDFAST_NEEDS(tokens);
  const int rounds = scaled(300);
  const Store clients[] = {world.client(), world.client()};
  std::vector<Token> seen;
  std::mutex mutex;  // For C++, which does not see the lock in the store.
  const auto crowd = [&] {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 6; ++thread) {
      threads.emplace_back([&, lock = clients[thread % 2].lock(name)] {
        for (int round = 0; round < rounds; ++round) {
          const auto lease = lock.acquire();
          ASSERT_TRUE(succeeded(lease));
          const std::lock_guard guard(mutex);
          seen.push_back(lease->token());
        }
      });
    }
  };
  std::size_t visits = 0;
  EXPECT_TRUE(eventually([&] {  // On a busy machine they may not have met at first.
    crowd();
    visits += static_cast<std::size_t>(6 * rounds);
    return world.traits().handovers == 0 ||
           clients[0].stats().handed_over + clients[1].stats().handed_over > 0;
  }));
  EXPECT_EQ(seen.size(), visits);
  EXPECT_EQ(std::ranges::adjacent_find(seen, std::greater_equal()), seen.end());
}

TEST_P(Tokens, GrowOverExpiry) {
  HOLDFAST_NEEDS(tokens);
  FaultyClient alice(world.url());
  const auto bob = world.client();
  const auto first = alice.store().lock(name).acquire();
  ASSERT_TRUE(succeeded(first));
  alice.inject({.fault = Fault::lost_request, .calls = ending(world.traits()), .count = for_good});
  world.end_holder(name);
  jump(past_ttl);
  EXPECT_FALSE(first->valid());
  const auto second = take_at_once(bob, name);
  ASSERT_TRUE(succeeded(second));
  EXPECT_GT(second->token(), first->token());
}

TEST_P(Tokens, GrowOverRevocation) {
  HOLDFAST_NEEDS(tokens);
  const auto alice = world.client();
  const auto bob = world.client();
  const auto first = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(first));
  ASSERT_TRUE(succeeded(bob.revoke(name, true)));
  const auto second = take_at_once(bob, name);
  ASSERT_TRUE(succeeded(second));
  EXPECT_GT(second->token(), first->token());
}

TEST_P(Tokens, GrowOverKilledHolders) {
  HOLDFAST_NEEDS(tokens);
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client();
  Token last = alice.lock(name).acquire().value().token();
  for (int round = 0; round < 3; ++round) {
    Peer peer(world.url());
    const auto killed = peer.acquire(name);
    EXPECT_GT(killed, last);
    peer.kill();
    ASSERT_TRUE(world.bury(peer.pid(), name));
    const auto lease = take_at_once(alice, name);
    ASSERT_TRUE(succeeded(lease));
    EXPECT_GT(lease->token(), killed);
    last = lease->token();
  }
}

TEST_P(Tokens, GrowOverARestartOfTheStore) {
  HOLDFAST_NEEDS(tokens);
  HOLDFAST_NEEDS(durable);
  Token last;
  for (int round = 0; round < 3; ++round) {
    {
      auto client = world.client();
      const auto lease = client.lock(name).acquire();
      ASSERT_TRUE(succeeded(lease));
      EXPECT_GT(lease->token(), last);
      last = lease->token();
    }
    world.restart();
  }
}

// A holder that survives the restart still holds, if its store is more than its clients.
TEST_P(Tokens, AreKeptByAHolderOverARestart) {
  HOLDFAST_NEEDS(durable);
  const auto alice = world.client({}, world.session(60s));  // longer than any restart takes
  const auto lease = alice.lock(name, {.ttl = held_long}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto token = lease->token();
  world.restart();
  const auto others = world.client().lock(name);
  EXPECT_TRUE(eventually([&] { return failed(others.try_acquire(), Errc::busy); }));
  EXPECT_TRUE(lease->valid());
  EXPECT_EQ(lease->token(), token);
}

TEST_P(Tokens, AreListedWithTheirHolders) {
  HOLDFAST_NEEDS(tokens);
  const auto alice = world.client();
  const auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto holders = listed(world.client(), name);
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders.front().token, lease->token());
  EXPECT_FALSE(holders.front().waits);
}

}  // namespace
}  // namespace holdfast
