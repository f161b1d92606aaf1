// Goal: acquire_all takes all or none, in one order of names, so that no waiters form a circle.

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Several : public Conformance {
 protected:
  const Store alice = world.client();
  const Store bob = world.client();
};
HOLDFAST_ON_EVERY_STORE(Several);

TEST_P(Several, AreTakenAndReleasedTogether) {
  {
    const auto leases = acquire_all(std::array{alice.lock("b"), alice.lock("a"), alice.lock("c")});
    ASSERT_TRUE(succeeded(leases));
    ASSERT_EQ(leases->size(), 3U);
    for (const auto& lease : *leases) EXPECT_TRUE(lease.valid());
    for (const auto* each : {"a", "b", "c"})
      EXPECT_TRUE(failed(bob.lock(each).try_acquire(), Errc::busy));
  }
  for (const auto* each : {"a", "b", "c"}) EXPECT_TRUE(succeeded(take_at_once(bob, each)));
}

TEST_P(Several, ComeBackInTheOrderOfTheRequest) {
  HOLDFAST_NEEDS(tokens);
  const std::array locks{alice.lock("z"), alice.lock("m"), alice.lock("a")};
  const auto leases = acquire_all(locks);
  ASSERT_TRUE(succeeded(leases));
  const std::array names{"z", "m", "a"};
  for (std::size_t index = 0; index < names.size(); ++index)
    EXPECT_EQ(leases->at(index).token(), listed(bob, names[index]).at(0).token);
}

TEST_P(Several, AreAllOrNone) {
  const auto held = bob.lock("b").acquire();
  ASSERT_TRUE(succeeded(held));
  const LockOptions soon{.wait = shortly};
  EXPECT_TRUE(busy_by_deadline([&] {
    return acquire_all(
        std::array{alice.lock("a", soon), alice.lock("b", soon), alice.lock("c", soon)});
  }));
  EXPECT_TRUE(succeeded(take_at_once(bob, "a")));
  EXPECT_TRUE(succeeded(take_at_once(bob, "c")));
  for (const auto* each : {"a", "c"}) EXPECT_TRUE(world.nothing_left_but("a mark", each));
}

TEST_P(Several, TheSameTwiceIsRefused) {
  EXPECT_TRUE(failed(acquire_all(std::array{alice.lock("a"), alice.lock("b"), alice.lock("a")}),
                     Errc::invalid));
  EXPECT_TRUE(bob.list().value().empty());
}

TEST_P(Several, ABadOneIsRefusedBeforeAnyIsTaken) {
  EXPECT_TRUE(failed(acquire_all(std::array{alice.lock("a"), alice.lock("")}), Errc::invalid));
  EXPECT_TRUE(bob.list().value().empty());
}

TEST_P(Several, NoneIsASuccess) {
  const auto none = acquire_all({});
  ASSERT_TRUE(succeeded(none));
  EXPECT_TRUE(none->empty());
}

TEST_P(Several, AreCancelledTogether) {
  const auto held = bob.lock("b").acquire();
  ASSERT_TRUE(succeeded(held));
  std::stop_source stop;
  std::jthread waiter([&] {
    const auto refused =
        acquire_all(std::array{alice.lock("a"), alice.lock("b")}, stop.get_token());
    EXPECT_TRUE(failed(refused, Errc::cancelled));
  });
  ASSERT_TRUE(eventually([&] { return holding(bob, "a") == 1; }));
  stop.request_stop();
  waiter.join();
  EXPECT_TRUE(world.nothing_left_but("a mark", "a"));
  EXPECT_EQ(waiting(alice, "b"), 0);
}

TEST_P(Several, InOppositeOrdersDoNotDeadlock) {
  std::atomic<int> entries = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const auto& client = thread % 2 == 0 ? alice : bob;
      std::vector locks{client.lock("x"), client.lock("y"), client.lock("z")};
      if (thread >= 2) std::reverse(locks.begin(), locks.end());
      for (int round = 0; round < scaled(50); ++round) {
        const auto leases = acquire_all(locks);
        ASSERT_TRUE(succeeded(leases));
        ++entries;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(entries, 4 * scaled(50));
  for (const auto* each : {"x", "y", "z"}) EXPECT_TRUE(world.nothing_left(each));
}

}  // namespace
}  // namespace holdfast
