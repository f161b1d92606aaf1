// Goal: each checker finds what it is for, under its own name, and is silent about a run that keeps
// its promises. Method: histories made by hand.
#include <gtest/gtest.h>

#include <set>

#include "tale.hpp"

namespace holdfast::lab::testing {
namespace {

constexpr std::uint64_t turns = 1024;

Expectation promised() {
  Expectation expected;
  expected.ttl = Millis(3000);
  expected.margin = Millis(150);
  return expected;
}

// The names of the checkers that found something, without duplicates.
std::string found_by(const Tale& tale, const Expectation& expected = promised()) {
  std::set<std::string_view> names;
  for (const Violation& violation : check(tale.history(), expected)) {
    names.insert(to_string(violation.checker));
    EXPECT_FALSE(violation.text.empty());
  }
  std::string joined;
  for (const std::string_view name : names) joined.append(joined.empty() ? "" : " ").append(name);
  return joined;
}
bool finds(Checker checker, const Tale& tale, const Expectation& expected = promised()) {
  return found_by(tale, expected).find(to_string(checker)) != std::string::npos;
}

// Process 0 holds the lock from 1 to 100 ms and releases it.
Tale held_once() {
  Tale tale;
  tale.ask(0, 1, 0)
      .store(1, What::store_granted, 1, 0, 1, 3001)
      .granted(2, 1, turns, 2800)
      .release(100, 1)
      .ended(101, 1, 0, "released")
      .released(102, 1);
  return tale;
}
// … and then process 1 does.
Tale held_twice() {
  Tale tale = held_once();
  tale.ask(50, 2, 1)
      .store(51, What::store_queued, 2, 1)
      .store(101, What::store_granted, 2, 1, 2, 3101)
      .granted(103, 2, 2 * turns, 2900)
      .release(200, 2)
      .ended(201, 2, 1, "released")
      .released(202, 2);
  return tale;
}

TEST(Checkers, AreSilentWhenPromisesAreKept) {
  EXPECT_EQ(found_by(Tale()), "");
  EXPECT_EQ(found_by(held_once()), "");
  EXPECT_EQ(found_by(held_twice()), "");
  EXPECT_EQ(found_by(held_twice().calm(300).process(20'000, What::note, nobody)), "");
}

TEST(Checkers, ExclusionFindsTwoLeasesThatCount) {
  Tale tale = held_once();
  tale.ask(10, 2, 1).granted(99, 2, 2 * turns, 2900).release(150, 2).released(151, 2);
  EXPECT_TRUE(finds(Checker::exclusion, tale));
  Expectation weak = promised();
  weak.exclusive = false;
  EXPECT_EQ(found_by(tale, weak), "") << "what is not promised is not judged";
}

TEST(Checkers, ExclusionCountsFromGrantToReleaseLossOrEnd) {
  Tale ended;
  ended.ask(0, 1, 0).granted(2, 1, turns, 500).process(10, What::pause, 0);
  ended.ask(0, 2, 1).granted(500, 2, 2 * turns, 900).tell(500, What::doubts, 1);
  ended.release(600, 2).released(601, 2);
  EXPECT_FALSE(finds(Checker::exclusion, ended));
  Tale lost;
  lost.ask(0, 1, 0).granted(2, 1, turns, 500).lost(300, 1);
  lost.ask(0, 2, 1).granted(300, 2, 2 * turns, 900).release(600, 2).released(601, 2);
  EXPECT_FALSE(finds(Checker::exclusion, lost));
}

TEST(Checkers, ExclusionFindsAStoreThatGrantsTwice) {
  Tale tale;
  tale.store(1, What::store_granted, 1, 0, 1, 3000).store(2, What::store_granted, 2, 1, 2, 3000);
  EXPECT_EQ(found_by(tale.ended(3, 1, 0, "released").ended(4, 2, 1, "released")), "exclusion");
}

TEST(Checkers, ExclusionAddsWeights) {
  const auto three = [](std::uint32_t weight) {
    Tale tale;
    tale.capacity(3);
    for (std::uint64_t op = 1; op <= 3; ++op)
      tale.ask(0, op, static_cast<std::int16_t>(op), op == 3 ? weight : 1)
          .granted(static_cast<std::int64_t>(op), op, op * turns, 900)
          .release(500, op)
          .released(501, op);
    return tale;
  };
  EXPECT_EQ(found_by(three(1)), "");
  EXPECT_TRUE(finds(Checker::exclusion, three(2)));
}

TEST(Checkers, OneOwnerEntersAgainAndNobodyElse) {
  const auto again = [](std::uint64_t owner) {
    Tale tale;
    tale.ask(0, 1, 0, 1, 7).granted(2, 1, turns, 900, 9);
    tale.ask(3, 2, 0, 1, owner).granted(4, 2, turns, 900, 9).release(5, 2).released(5, 2);
    return tale.release(6, 1).released(7, 1);
  };
  EXPECT_EQ(found_by(again(7)), "");
  EXPECT_TRUE(finds(Checker::exclusion, again(8)));
  EXPECT_TRUE(finds(Checker::fencing, again(8)));
}

TEST(Checkers, BeliefFindsTwoThatBelieve) {
  // By its own word the lease ended at 500, but its process saw valid() true at 510.
  Tale tale;
  tale.ask(0, 1, 0).granted(2, 1, turns, 500);
  tale.ask(0, 2, 1).granted(505, 2, 2 * turns, 900);
  tale.process(510, What::note, 0).lost(520, 1).release(600, 2).released(601, 2);
  EXPECT_TRUE(finds(Checker::belief, tale));
  EXPECT_FALSE(finds(Checker::exclusion, tale));
}

TEST(Checkers, BeliefFindsWhoBelievesAfterTheStoreEndedIt) {
  const auto believing = [](const char* why) {
    Tale tale;
    tale.ask(0, 1, 0).store(1, What::store_granted, 1, 0, 1, 3001).granted(2, 1, turns, 2800);
    tale.ended(1000, 1, 0, why).process(1001, What::note, 0).release(1002, 1).released(1003, 1);
    return tale;
  };
  EXPECT_TRUE(finds(Checker::belief, believing("withdrawn")));
  EXPECT_FALSE(finds(Checker::belief, believing("revoked"))) << "somebody took it away";
}

TEST(Checkers, BeliefFindsWhoBelievesLongerThanItWasTold) {
  Expectation faulty = promised();
  faulty.faults = true;
  Tale tale;
  tale.ask(0, 1, 0).granted(2, 1, turns, 500).process(400, What::pause, 0);
  tale.process(600, What::note, nobody).process(601, What::resume, 0).lost(601, 1);
  EXPECT_EQ(found_by(tale, faulty), "belief");
}

TEST(Checkers, FencingFindsNumbersThatDoNotGrow) {
  Tale tale;
  tale.store(1, What::store_granted, 1, 0, 5, 100).ended(2, 1, 0, "released");
  tale.store(3, What::store_granted, 2, 1, 5, 100).ended(4, 2, 1, "released");
  EXPECT_EQ(found_by(tale), "fencing");
}

TEST(Checkers, FencingFindsATokenOfAnotherGrant) {
  Tale tale;
  tale.ask(0, 1, 0).store(1, What::store_granted, 1, 0, 5, 3000);
  tale.granted(2, 1, 6 * turns, 2800).release(3, 1).ended(4, 1, 0, "released").released(5, 1);
  EXPECT_EQ(found_by(tale), "fencing");
}

TEST(Checkers, FencingFindsAHandoverWithoutANewTurn) {
  const auto handed = [](std::uint64_t token) {
    Tale tale;
    tale.ask(0, 1, 0).granted(2, 1, turns, 900, 9).release(3, 1).released(3, 1);
    return tale.ask(0, 2, 0).granted(4, 2, token, 900, 9).release(5, 2).released(5, 2);
  };
  EXPECT_EQ(found_by(handed(turns + 1)), "");
  EXPECT_TRUE(finds(Checker::fencing, handed(turns)));
}

TEST(Checkers, FencingFindsAResourceThatErrs) {
  const auto written = [](What third) {
    Tale tale;
    return tale.write(1, What::accepted, 5).write(2, What::accepted, 7).write(3, third, 5);
  };
  EXPECT_EQ(found_by(written(What::rejected)), "");
  EXPECT_EQ(found_by(written(What::accepted)), "fencing");
  EXPECT_EQ(found_by(Tale().write(1, What::accepted, 5).write(2, What::rejected, 5)), "fencing");
}

TEST(Checkers, FencingJudgesTheUnfencedResourceOnlyIfAsked) {
  Tale tale;
  tale.write(1, What::accepted, 7, false).write(2, What::accepted, 5, false);
  EXPECT_EQ(found_by(tale), "");
  Expectation strict = promised();
  strict.unfenced = true;
  EXPECT_EQ(found_by(tale, strict), "fencing");
}

// A lease that its holder never releases; the store ends it at 3001 ms.
Tale never_released(std::int64_t told) {
  Tale tale;
  tale.ask(0, 1, 0).store(1, What::store_granted, 1, 0, 1, 3001).granted(2, 1, turns, 2800);
  if (told > 0) tale.lost(told, 1);
  return tale.ended(3001, 1, 0, "expired").process(9000, What::note, nobody);
}

TEST(Checkers, LostFindsWhoIsToldLateOrNever) {
  Expectation faulty = promised();
  faulty.faults = true;
  EXPECT_EQ(found_by(never_released(2800), faulty), "");
  EXPECT_EQ(found_by(never_released(2900), faulty), "lost") << "within the margin";
  EXPECT_TRUE(finds(Checker::lost, never_released(0), faulty));
}

TEST(Checkers, LostIsTooLateOnlyWhileTheProcessRuns) {
  Expectation faulty = promised();
  faulty.faults = true;
  Tale tale = never_released(4000);
  tale.process(2000, What::pause, 0).tell(2801, What::doubts, 1).process(4000, What::resume, 0);
  EXPECT_EQ(found_by(tale, faulty), "");
}

TEST(Checkers, LostWithoutFaultsHasNoReason) {
  EXPECT_EQ(found_by(never_released(2800)), "lost");
  Tale tale = held_once();
  EXPECT_EQ(found_by(tale.lost(50, 1, "hold_at_most")), "") << "the caller asked for that";
}

TEST(Checkers, WhatIsLostStaysLost) {
  Expectation faulty = promised();
  faulty.faults = true;
  Tale tale = never_released(2800);
  Event renewed{.at = 2850 * Tale::ms, .what = What::renewed, .process = 0};
  renewed.op = 1;
  renewed.until = 2900 * Tale::ms;
  History history = tale.history();
  History again;
  for (const Event& event : history.events()) {
    if (event.at > renewed.at && renewed.op) again.add(std::exchange(renewed, {}));
    again.add(event);
  }
  const auto found = check(again, faulty);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().checker, Checker::lost);
}

TEST(Checkers, LivenessFindsAFreeLockThatNobodyGets) {
  const auto waited = [](std::int64_t granted) {
    Tale tale = held_once();
    tale.calm(150).ask(90, 2, 1).granted(granted, 2, 2 * turns, granted + 2800);
    return tale.release(granted + 10, 2).released(granted + 11, 2);
  };
  EXPECT_EQ(found_by(waited(1000)), "");
  EXPECT_EQ(found_by(waited(3000)), "liveness");
  Expectation faulty = promised();
  faulty.faults = true;
  EXPECT_EQ(found_by(waited(3000), faulty), "") << "the lease of a dead holder had to end first";
  EXPECT_EQ(found_by(waited(8000), faulty), "liveness");
}

TEST(Checkers, LivenessAllowsALongHold) {
  Tale tale;
  tale.calm(0).ask(0, 1, 0).granted(2, 1, turns, 90'000).release(60'000, 1).released(60'001, 1);
  tale.ask(1, 2, 1).granted(60'002, 2, 2 * turns, 90'000).release(60'010, 2).released(60'011, 2);
  EXPECT_EQ(found_by(tale), "");
}

TEST(Checkers, LivenessFindsWhoIsNeverAnswered) {
  EXPECT_EQ(found_by(Tale().calm(0).ask(1, 1, 0).process(2, What::note, nobody)), "liveness");
  EXPECT_EQ(found_by(Tale().calm(0).ask(1, 1, 0).process(2, What::crash, 0)), "");
}

TEST(Checkers, FairnessFindsWhoPassesTheLine) {
  const auto granted = [](bool fair) {
    Tale tale;
    tale.store(1, What::store_queued, 1, 0).store(2, What::store_queued, 2, 1);
    Event grant{.at = 3 * Tale::ms, .what = What::store_granted, .flag = fair, .process = 1};
    grant.node = 0;
    grant.claim = 2;
    grant.token = 1;
    History history = tale.history();
    history.add(grant);
    return check(history, promised());
  };
  ASSERT_EQ(granted(true).size(), 1U);
  EXPECT_EQ(granted(true).front().checker, Checker::fairness);
  EXPECT_TRUE(granted(false).empty()) << "it asked not to be fair";
}

TEST(Checkers, FairnessAllowsWhoeverIsFirstWhenTheOthersLeft) {
  Tale tale;
  tale.store(1, What::store_queued, 1, 0).store(2, What::store_queued, 2, 1);
  tale.ended(3, 1, 0, "withdrawn").store(4, What::store_granted, 2, 1, 1, 3000);
  EXPECT_EQ(found_by(tale.ended(5, 2, 1, "released")), "");
}

// A process that serves its own line this many times and holds this long each time.
Tale serves_itself(std::uint64_t times, std::int64_t microseconds) {
  Tale tale;
  History history;
  std::int64_t at = 1;
  for (std::uint64_t turn = 0; turn <= times; ++turn) {
    tale.ask(0, turn + 1, 0);
    tale.granted(at, turn + 1, turns + turn, 2900, 9);
    at += microseconds / 1000;
    tale.release(at, turn + 1).released(at, turn + 1);
  }
  return tale;
}

TEST(Checkers, FairnessBoundsHowOftenAndHowLongAProcessServesItself) {
  EXPECT_EQ(found_by(serves_itself(64, 0)), "");
  EXPECT_EQ(found_by(serves_itself(65, 0)), "fairness");
  EXPECT_EQ(found_by(serves_itself(5, 2000)), "");
  EXPECT_EQ(found_by(serves_itself(8, 2000)), "fairness");
}

TEST(Checkers, FairnessFindsDisorderInsideAProcess) {
  Tale tale;
  tale.ask(0, 1, 0).ask(1, 2, 0);
  tale.granted(2, 2, turns, 900).release(3, 2).released(4, 2);
  tale.granted(5, 1, 2 * turns, 900).release(6, 1).released(7, 1);
  EXPECT_EQ(found_by(tale), "fairness");
}

TEST(Checkers, ResidueFindsWhatTheCancelledLeft) {
  const auto cancelled = [](std::int64_t withdrawn) {
    Tale tale;
    tale.calm(0).ask(1, 1, 0).store(2, What::store_queued, 1, 0).refused(10, 1);
    return tale.ended(withdrawn, 1, 0, "withdrawn").process(20'000, What::note, nobody);
  };
  EXPECT_EQ(found_by(cancelled(11)), "");
  EXPECT_EQ(found_by(cancelled(5000)), "residue");
}

TEST(Checkers, ResidueAllowsTheDeadTheirTime) {
  const auto dead = [](std::int64_t expired) {
    Tale tale;
    tale.calm(0).ask(1, 1, 0).store(2, What::store_queued, 1, 0).process(3, What::crash, 0);
    return tale.ended(expired, 1, 0, "expired").process(20'000, What::note, nobody);
  };
  EXPECT_EQ(found_by(dead(5000)), "");
  EXPECT_EQ(found_by(dead(12'000)), "residue");
}

TEST(Checkers, ResidueFindsAClaimThatComesBack) {
  const auto again = [](What between) {
    Tale tale;
    tale.store(1, What::store_queued, 1, 0).request(2, 1, 0, "drop").ended(2, 1, 0, "withdrawn");
    Event event{.at = 3 * Tale::ms, .what = between, .node = 0};
    History history = tale.history();
    history.add(event);
    event.at = 4 * Tale::ms;
    event.what = What::store_queued;
    event.claim = 1;
    history.add(event);
    Expectation faulty = promised();
    faulty.faults = true;
    return check(history, faulty);
  };
  ASSERT_EQ(again(What::note).size(), 1U);
  EXPECT_EQ(again(What::note).front().checker, Checker::residue);
  EXPECT_TRUE(again(What::restart).empty()) << "it may have forgotten that it was dropped";
}

TEST(Checkers, CostBoundsRequests) {
  const auto asked = [](int times) {
    Tale tale = held_once();
    for (int i = 0; i < times; ++i) tale.request(3 + i, 1, 0, "ask");
    return tale;
  };
  EXPECT_EQ(found_by(asked(6)), "");
  EXPECT_EQ(found_by(asked(7)), "cost");
  Expectation faulty = promised();
  faulty.faults = true;
  EXPECT_EQ(found_by(asked(7), faulty), "");
}

TEST(Checkers, CostBoundsRenewals) {
  const auto renewed = [](std::int64_t every) {
    Tale tale;
    tale.ask(0, 1, 0).store(1, What::store_granted, 1, 0, 1, 3001).granted(2, 1, turns, 90'000);
    for (int i = 1; i < 8; ++i)
      tale.request(every * i, 1, 0, "renew")
          .store(every * i, What::store_renewed, 1, 0, 0, every * i + 3000);
    return tale.release(every * 8, 1).ended(every * 8, 1, 0, "released").released(every * 8, 1);
  };
  EXPECT_EQ(found_by(renewed(900)), "");
  EXPECT_EQ(found_by(renewed(700)), "cost");
}

TEST(Checkers, StuckFindsWhatIsLeft) {
  Tale tale = held_once();
  EXPECT_EQ(found_by(tale.process(500, What::left, 0, "a debt")), "stuck");
}

}  // namespace
}  // namespace holdfast::lab::testing
