// How long a lease counts if it is renewed late, or was granted for a short time.
#include <gtest/gtest.h>

#include "gate_world.hpp"

namespace holdfast::core::testing {
namespace {

using std::chrono::seconds;

class GateRenewal : public ::testing::Test {
 protected:
  GateRenewal() { world.add_processes(2); }
  Process::Client& want(std::size_t index, std::shared_ptr<const Wish> wish = exclusive()) {
    return world.process(index).want(std::move(wish), seconds(100), [](Process::Client&) {});
  }

  World world{7};
};

// It counts from when it was sent, like any other.
TEST_F(GateRenewal, ARenewalThatTakesHalfOfTheTtlCounts) {
  auto& client = want(0);
  world.run(Millis(10));
  ASSERT_TRUE(client.hold);
  world.slow = Millis(1500);
  world.run(seconds(60));
  EXPECT_EQ(client.hold->state, Hold::State::held);
  EXPECT_TRUE(client.hold->valid(world.now(), Nanos(0)));
}

// A store that cannot know whether its message was heard grants only for a short time.
TEST_F(GateRenewal, AGrantThatIsShorterThanTheWishIsConfirmedAtOnce) {
  auto& first = want(0);
  world.run(Millis(5));
  auto wish = exclusive();
  // Some of the short grant is left, but less than it takes until a renewal is due.
  wish->margin = Millis(1'400);
  auto& second = want(1, wish);
  world.run(Millis(5));
  ASSERT_TRUE(first.hold);
  world.faults.lost_messages = 100;
  world.process(0).give_back(*first.hold);
  world.run(Millis(5));
  const auto asked = world.asks;
  const auto& granted = world.store.entries().front();
  world.process(1).told(
      {Notice::What::granted, granted.claim, granted.party, granted.number, Millis(2000)},
      world.store_us());
  world.run(Millis(5));
  EXPECT_EQ(world.asks, asked + 1);
  ASSERT_TRUE(second.hold);
  world.run(seconds(30));
  EXPECT_TRUE(second.hold->valid(world.now(), Nanos(0)));
}

}  // namespace
}  // namespace holdfast::core::testing
