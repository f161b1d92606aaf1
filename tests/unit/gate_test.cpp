// The gate's decisions, one at a time, on virtual time. The laboratory tests how they work together
// under faults.
#include <gtest/gtest.h>

#include "gate_world.hpp"

namespace holdfast::core::testing {
namespace {

using std::chrono::seconds;

struct Got {
  std::vector<Process::Client*> order;
  std::function<void(Process::Client&)> note() {
    return [this](Process::Client& client) { order.push_back(&client); };
  }
};

class GateTest : public ::testing::Test {
 protected:
  World world{7};
  Got got;
  Process& process(std::size_t index) {
    if (!made_) world.add_processes(3);
    made_ = true;
    return world.process(index);
  }
  Process::Client& want(std::size_t index, std::shared_ptr<const Wish> wish = exclusive(),
                        Nanos wait = seconds(100)) {
    return process(index).want(std::move(wish), wait, got.note());
  }
  void pass(Nanos time) { world.run(time); }

 private:
  bool made_ = false;
};

TEST_F(GateTest, AFreeLockCostsOneAskAndOneDrop) {
  auto& client = want(0);
  pass(Millis(10));
  ASSERT_TRUE(client.hold);
  EXPECT_EQ(client.hold->token.value, 1024U);
  EXPECT_EQ(process(0).give_back(*client.hold), Gate::Released::under_way);
  pass(Millis(10));
  EXPECT_EQ(world.asks, 1U);
  EXPECT_EQ(world.drops, 1U);
  EXPECT_TRUE(process(0).idle());
}

TEST_F(GateTest, HandoverRaisesTheTurnAndAsksNobody) {
  auto& first = want(0);
  auto& second = want(0);
  pass(Millis(5));
  ASSERT_TRUE(first.hold);
  EXPECT_FALSE(second.hold);
  process(0).give_back(*first.hold);
  ASSERT_TRUE(second.hold);
  EXPECT_TRUE(second.handed_over);
  EXPECT_EQ(second.hold->token.value, first.hold->token.value + 1);
  EXPECT_EQ(world.asks, 1U);
  EXPECT_EQ(world.drops, 0U);
  process(0).give_back(*second.hold);
}

TEST_F(GateTest, AfterTheBoundTheStoresLineGoesFirst) {
  std::vector<Process::Client*> ours;
  for (int i = 0; i < 70; ++i) ours.push_back(&want(0));
  pass(Millis(3));
  auto& other = want(1);
  pass(Millis(3));
  ASSERT_TRUE(ours[0]->hold);
  for (int i = 0; i < 64; ++i) {
    process(0).give_back(*ours[static_cast<std::size_t>(i)]->hold);
    ASSERT_TRUE(ours[static_cast<std::size_t>(i) + 1]->hold) << i;
  }
  process(0).give_back(*ours[64]->hold);
  EXPECT_FALSE(ours[65]->hold);
  pass(Millis(5));
  EXPECT_TRUE(other.hold);
  EXPECT_FALSE(ours[65]->hold);
}

TEST_F(GateTest, NothingIsHandedOverAfterTenMilliseconds) {
  auto& first = want(0);
  auto& second = want(0);
  pass(Millis(20));
  process(0).give_back(*first.hold);
  EXPECT_FALSE(second.hold);
  pass(Millis(10));
  ASSERT_TRUE(second.hold);
  EXPECT_FALSE(second.handed_over);
  EXPECT_EQ(second.hold->token.value, 2048U);
}

TEST_F(GateTest, ATrierIsRefusedWithTheHolderAndLeavesNothing) {
  auto& holder = want(0);
  pass(Millis(5));
  ASSERT_TRUE(holder.hold);
  auto& here = want(0, exclusive(), Nanos(0));
  auto& there = want(1, exclusive(), Nanos(0));
  pass(Millis(5));
  EXPECT_EQ(here.errc, Errc::busy);
  EXPECT_EQ(there.errc, Errc::busy);
  ASSERT_TRUE(there.failure && there.failure->holder);
  EXPECT_EQ(there.failure->holder->who, "a process");
  EXPECT_TRUE(process(1).idle());
}

TEST_F(GateTest, ACancelledHeadPassesItsPlaceOn) {
  auto& holder = want(0);
  pass(Millis(5));
  auto& head = want(1);
  auto& next = want(1);
  pass(Millis(5));
  auto& last = want(2);
  pass(Millis(5));
  process(1).cancel(head);
  process(0).give_back(*holder.hold);
  pass(Millis(5));
  EXPECT_EQ(head.errc, Errc::cancelled);
  EXPECT_TRUE(next.hold);
  EXPECT_FALSE(last.hold);
}

TEST_F(GateTest, CancelAfterGrantChangesNothing) {
  auto& client = want(0);
  pass(Millis(5));
  ASSERT_TRUE(client.hold);
  process(0).cancel(client);
  EXPECT_TRUE(client.hold);
  EXPECT_TRUE(client.hold->valid(world.now(), Nanos(0)));
}

TEST_F(GateTest, ReadersOfOneProcessShareAClaimAndItsToken) {
  auto& holder = want(1);
  pass(Millis(5));
  auto& first = want(0, reading());
  auto& second = want(0, reading());
  auto& writer = want(0);
  auto& behind = want(0, reading());
  pass(Millis(5));
  process(1).give_back(*holder.hold);
  pass(Millis(5));
  ASSERT_TRUE(first.hold && second.hold);
  EXPECT_EQ(first.hold->token, second.hold->token);
  EXPECT_FALSE(writer.hold);
  EXPECT_FALSE(behind.hold) << "a reader overtook a waiting writer";
  process(0).give_back(*first.hold);
  process(0).give_back(*second.hold);
  pass(Millis(5));
  EXPECT_TRUE(writer.hold);
}

TEST_F(GateTest, AnUnansweredAskIsAskedAgainWithTheSameId) {
  world.faults.lost_replies = 100;
  auto& client = want(0);
  pass(Millis(1200));
  world.faults = {};
  EXPECT_FALSE(client.hold);
  pass(Millis(1500));
  ASSERT_TRUE(client.hold);
  EXPECT_GE(world.asks, 2U);
  EXPECT_EQ(client.hold->token.value, 1024U) << "the store saw one claim, not two";
}

// An ask that one waiter's deadline cut short tells the next waiter nothing about the store.
TEST_F(GateTest, ATrierDoesNotPayForTheHasteOfAnother) {
  world.faults.lost_requests = 100;
  auto& hasty = want(0, exclusive(), Millis(20));
  pass(Millis(10));
  process(0).cancel(hasty);
  auto& trier = want(0, exclusive(), Nanos(0));
  world.faults.lost_requests = 0;
  pass(Millis(20));
  EXPECT_TRUE(trier.hold);
  EXPECT_EQ(world.asks, 2U);
}

// A claim with a ttl ends by it. A session's claim lives until it is dropped.
TEST_F(GateTest, ADebtToASessionIsNotForgivenByTime) {
  world.terms.traits.validity = Validity::session;
  auto& client = want(0);
  pass(Millis(10));
  ASSERT_TRUE(client.hold);
  world.faults.lost_requests = 100;
  process(0).give_back(*client.hold);
  pass(seconds(10));
  EXPECT_EQ(process(0).debts(), 1U);
  world.faults.lost_requests = 0;
  pass(seconds(5));
  EXPECT_EQ(process(0).debts(), 0U);
}

// A server that stalled may apply it long after its ttl, so the withdrawal is still owed then.
TEST_F(GateTest, ADoubtfulDebtIsNotForgivenByItsTtl) {
  world.faults.lost_replies = 100;
  auto& client = want(0, exclusive(), Millis(600));
  pass(seconds(1));
  EXPECT_FALSE(client.hold);
  world.faults = {};
  world.faults.lost_requests = 100;
  pass(2 * Nanos(exclusive()->ttl));
  EXPECT_EQ(process(0).debts(), 1U);
  world.faults = {};
  pass(seconds(5));
  EXPECT_EQ(process(0).debts(), 0U);
}

TEST_F(GateTest, ASessionInDoubtIsARiskOnceAndProvenASafetyOnce) {
  world.terms.traits.validity = Validity::session;
  auto& client = want(0);
  pass(Millis(10));
  ASSERT_TRUE(client.hold);
  const auto told = [&](auto&& event) {
    std::vector<Event::Kind> kinds;
    process(0).step([&](const auto&, Orders& orders) {
      event(orders);
      for (std::size_t i = 0; i < orders.notes; ++i) kinds.push_back(orders.note[i].kind);
    });
    return kinds;
  };
  const auto doubt = [&](Orders& orders) { process(0).in_doubt(orders); };
  const auto prove = [&](Orders& orders) { process(0).proven(orders); };
  using Kinds = std::vector<Event::Kind>;
  EXPECT_EQ(told(prove), Kinds{});
  EXPECT_EQ(told(doubt), Kinds{Event::Kind::at_risk});
  EXPECT_EQ(told(doubt), Kinds{});
  EXPECT_TRUE(world.terms.session_at_risk);
  EXPECT_EQ(told(prove), Kinds{Event::Kind::safe});
  EXPECT_TRUE(client.hold->valid(world.now(), Nanos(0)));
}

// Only the session renews a session's claim, which is valid for as long as the last proof.
TEST_F(GateTest, ASessionsClaimEndsWithTheLastProof) {
  world.terms.traits.validity = Validity::session;
  world.terms.session_end = 0;
  world.terms.prove_until(world.now() + seconds(10));
  auto& client = want(0);
  pass(Millis(10));
  ASSERT_TRUE(client.hold);
  const auto asked = world.asks;
  pass(seconds(9));
  EXPECT_TRUE(world.terms.session_at_risk) << "less than half of the ttl is left";
  EXPECT_TRUE(world.terms.prove_until(world.now() + seconds(10)));
  pass(seconds(9));
  EXPECT_TRUE(client.hold->valid(world.now(), Nanos(0)));
  pass(seconds(1));
  EXPECT_FALSE(client.hold->valid(world.now(), Nanos(0)));
  EXPECT_EQ(client.hold->state, Hold::State::lost);
  EXPECT_EQ(world.asks, asked);
}

// Granted by a message that was lost, and revoked before the client knew: nobody else drops it.
TEST_F(GateTest, WhatWasRevokedBeforeItWasHeardOfIsLetGo) {
  auto& first = want(0);
  pass(Millis(5));
  auto& second = want(1);
  pass(Millis(5));
  ASSERT_TRUE(first.hold);
  world.faults.lost_messages = 100;
  process(0).give_back(*first.hold);
  pass(Millis(5));
  Notices notices;
  world.store.revoke(false, world.store_us(), notices);
  pass(seconds(4));
  EXPECT_EQ(second.errc, Errc::lost);
  EXPECT_TRUE(world.store.entries().empty());
}

// A message about a grant that has ended since: the claim waits in line again, at its old place.
TEST_F(GateTest, AMessageOlderThanTheLastAnswerGrantsNothing) {
  auto& first = want(0);
  pass(Millis(5));
  auto& second = want(1);
  pass(Millis(5));
  ASSERT_EQ(world.store.entries().size(), 2U);
  const ClaimId waiting = world.store.entries()[1].claim;
  process(1).told({Notice::What::granted, waiting, {1, 0}, 1, Millis(6'000)},
                  world.store_us() - 1'000'000);
  pass(Millis(5));
  EXPECT_FALSE(second.hold);
  ASSERT_EQ(world.store.entries().size(), 2U);
  EXPECT_EQ(world.store.entries()[1].claim, waiting);
  process(0).give_back(*first.hold);
  pass(Millis(5));
  ASSERT_TRUE(second.hold);
  EXPECT_EQ(second.hold->token.value, 2 * 1024U);
}

TEST_F(GateTest, WhoGaveUpIsWithdrawnAndNamedByTheNextAsk) {
  world.faults.lost_replies = 100;
  auto& client = want(0, exclusive(Millis(30'000)), Millis(1000));
  pass(Millis(7000));
  EXPECT_EQ(client.errc, Errc::unavailable);
  EXPECT_FALSE(process(0).idle()) << "its claim may be in the store: it is owed";
  world.faults = {};
  auto& next = want(0, exclusive(Millis(30'000)));
  pass(Millis(10));
  EXPECT_TRUE(next.hold) << "it waits for its own orphan";
}

TEST_F(GateTest, WhatIsLostStaysLostAndIsLetGoWhenItsTimeIsOver) {
  auto& client = want(0);
  pass(Millis(5));
  ASSERT_TRUE(client.hold);
  process(0).cut_off = true;
  const BootTime until = client.hold->counted_until();
  pass(until - world.now() - Millis(1));
  EXPECT_TRUE(client.hold->valid(world.now(), Nanos(0)));
  pass(Millis(2));
  EXPECT_FALSE(client.hold->valid(world.now(), Nanos(0)));
  EXPECT_EQ(client.hold->state.load(), Hold::State::lost);
  EXPECT_STREQ(client.hold->why_lost, "expired");
  process(0).cut_off = false;
  pass(seconds(5));
  EXPECT_EQ(client.hold->state.load(), Hold::State::lost);
  EXPECT_EQ(process(0).give_back(*client.hold), Gate::Released::lost);
}

TEST_F(GateTest, WhoeverHasALostLeaseDoesNotEnterAgain) {
  const Entrant owner{1, 2};
  auto& first = process(0).want(exclusive(), seconds(100), got.note(), owner);
  pass(Millis(5));
  ASSERT_TRUE(first.hold);
  process(0).cut_off = true;
  pass(seconds(10));
  process(0).cut_off = false;
  auto& again = process(0).want(exclusive(), seconds(100), got.note(), owner);
  EXPECT_EQ(again.errc, Errc::lost);
  EXPECT_EQ(process(0).give_back(*first.hold), Gate::Released::lost);
  auto& anew = process(0).want(exclusive(), seconds(100), got.note(), owner);
  pass(seconds(2));
  EXPECT_TRUE(anew.hold);
}

TEST_F(GateTest, RenewalKeepsIt) {
  auto& client = want(0);
  pass(seconds(20));
  ASSERT_TRUE(client.hold);
  EXPECT_TRUE(client.hold->valid(world.now(), Nanos(0)));
}

TEST_F(GateTest, HoldAtMostEndsByItself) {
  auto wish = exclusive();
  wish->hold_at_most = Millis(1000);
  auto& client = want(0, wish);
  pass(Millis(5));
  auto& next = want(1);
  pass(Millis(800));
  EXPECT_TRUE(client.hold->valid(world.now(), Nanos(0)));
  EXPECT_FALSE(next.hold);
  pass(Millis(250));
  EXPECT_EQ(client.hold->state.load(), Hold::State::lost);
  EXPECT_TRUE(next.hold);
}

TEST_F(GateTest, APauseThatTheBootClockSleptThroughIsDoubted) {
  auto& client = want(0);
  pass(Millis(5));
  ASSERT_TRUE(client.hold->valid(world.now(), Nanos(0)));
  EXPECT_FALSE(client.hold->valid(world.now(), seconds(2)));
  EXPECT_TRUE(client.hold->valid(world.now(), -seconds(3600))) << "a backward move changes nothing";
}

TEST_F(GateTest, KindsMustAgree) {
  auto& client = want(0);
  pass(Millis(5));
  auto permits = exclusive();
  permits->kind = Kind::semaphore;
  permits->capacity = 5;
  permits->weight = 1;
  auto& here = want(0, permits);
  auto& there = want(1, permits);
  pass(Millis(5));
  EXPECT_EQ(here.errc, Errc::invalid);
  EXPECT_EQ(there.errc, Errc::invalid);
  EXPECT_NE(here.failure->problem.text.find("semaphore"), std::string::npos);
  EXPECT_NE(here.failure->problem.text.find("read-write"), std::string::npos);
  EXPECT_TRUE(client.hold);
}

TEST_F(GateTest, CloseCancelsLosesAndReleases) {
  auto& holder = want(0);
  auto& waiter = want(0);
  pass(Millis(5));
  auto& other = want(1);
  pass(Millis(5));
  process(0).step([&](const Moment& moment, Orders& orders) { process(0).close(moment, orders); });
  EXPECT_EQ(waiter.errc, Errc::cancelled);
  EXPECT_EQ(holder.hold->state.load(), Hold::State::lost);
  pass(Millis(5));
  EXPECT_TRUE(other.hold);
  EXPECT_TRUE(process(0).idle());
}

}  // namespace
}  // namespace holdfast::core::testing
