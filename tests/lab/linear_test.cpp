// Goal: for each model, an order that it allows is found and what it forbids is refused. Method:
// operations made by hand.
#include "lab/check/linear.hpp"

#include <gtest/gtest.h>

namespace holdfast::lab::testing {
namespace {

using Kind = Operation::Kind;

// When it was called and returned (0: never), and for which lease.
Operation acquire(std::int64_t called, std::int64_t returned, std::uint64_t lease,
                  std::uint64_t token = 0, std::uint64_t owner = 0, std::uint32_t weight = 1) {
  return {Kind::acquire, called, returned ? returned : not_yet, lease, owner, token, weight};
}
Operation release(std::int64_t called, std::int64_t returned, std::uint64_t lease) {
  return {Kind::release, called, returned ? returned : not_yet, lease, 0, 0, 1};
}
Operation lapse(std::int64_t from, std::uint64_t lease) {
  return {Kind::lapse, from, not_yet, lease, 0, 0, 1};
}

TEST(Linear, AnEmptyHistoryIs) { EXPECT_EQ(linear({}, Model::owner_aware_mutex), Verdict::linear); }

TEST(Linear, OwnerAwareMutex) {
  const Model model = Model::owner_aware_mutex;
  EXPECT_EQ(linear({acquire(0, 1, 1), release(2, 3, 1), acquire(0, 4, 2)}, model), Verdict::linear);
  // The second returned before the first released.
  EXPECT_EQ(linear({acquire(0, 1, 1), acquire(0, 2, 2), release(3, 4, 1)}, model), Verdict::broken);
  // It released twice.
  EXPECT_EQ(linear({acquire(0, 1, 1), release(2, 3, 1), release(4, 5, 1)}, model), Verdict::broken);
  // Calls that overlap may have happened in either order.
  EXPECT_EQ(
      linear({acquire(0, 9, 1), acquire(0, 5, 2), release(6, 8, 2), release(10, 11, 1)}, model),
      Verdict::linear);
}

TEST(Linear, WhatStaysOpenMayHaveHappenedOrNot) {
  const Model model = Model::owner_aware_mutex;
  EXPECT_EQ(linear({acquire(0, 1, 1), release(2, 0, 1), acquire(3, 4, 2)}, model), Verdict::linear);
  EXPECT_EQ(linear({acquire(0, 1, 1), release(2, 0, 1)}, model), Verdict::linear);
  // … but not before it was called.
  EXPECT_EQ(linear({acquire(0, 1, 1), acquire(2, 3, 2), release(4, 0, 1)}, model), Verdict::broken);
}

TEST(Linear, ALeaseLapsesFromItsEndOn) {
  const Model model = Model::owner_aware_mutex;
  EXPECT_EQ(linear({acquire(0, 1, 1), lapse(5, 1), acquire(2, 6, 2)}, model), Verdict::linear);
  EXPECT_EQ(linear({acquire(0, 1, 1), lapse(5, 1), acquire(2, 4, 2)}, model), Verdict::broken);
}

TEST(Linear, ReentrantMutex) {
  const std::vector<Operation> twice{acquire(0, 1, 1, 0, 7), acquire(2, 3, 2, 0, 7),
                                     release(4, 5, 2), release(6, 7, 1)};
  EXPECT_EQ(linear(twice, Model::reentrant_mutex), Verdict::linear);
  EXPECT_EQ(linear(twice, Model::owner_aware_mutex), Verdict::broken);
  // Another got in after the first of two releases.
  EXPECT_EQ(linear({acquire(0, 1, 1, 0, 7), acquire(2, 3, 2, 0, 7), release(4, 5, 2),
                    acquire(5, 6, 3, 0, 8), release(7, 8, 1)},
                   Model::reentrant_mutex),
            Verdict::broken);
  // Without an owner nobody can enter again.
  EXPECT_EQ(linear({acquire(0, 1, 1), acquire(2, 3, 2), release(4, 5, 2), release(6, 7, 1)},
                   Model::reentrant_mutex),
            Verdict::broken);
}

TEST(Linear, FencedMutex) {
  const auto tokens = [](std::uint64_t first, std::uint64_t second) {
    return linear({acquire(0, 1, 1, first), release(2, 3, 1), acquire(4, 5, 2, second)},
                  Model::fenced_mutex);
  };
  EXPECT_EQ(tokens(1, 2), Verdict::linear);
  EXPECT_EQ(tokens(2, 2), Verdict::broken);
  EXPECT_EQ(tokens(2, 1), Verdict::broken);
  // The tokens of overlapping calls allow only one order, which is impossible here.
  EXPECT_EQ(
      linear({acquire(0, 9, 1, 2), acquire(0, 9, 2, 1), release(10, 11, 1), release(12, 13, 2)},
             Model::fenced_mutex),
      Verdict::broken);
}

TEST(Linear, ReentrantFencedMutex) {
  const auto again = [](std::uint64_t token) {
    return linear({acquire(0, 1, 1, 5, 7), acquire(2, 3, 2, token, 7), release(4, 5, 2),
                   release(6, 7, 1), acquire(8, 9, 3, 6, 7)},
                  Model::reentrant_fenced_mutex);
  };
  EXPECT_EQ(again(5), Verdict::linear);
  EXPECT_EQ(again(6), Verdict::broken) << "a re-entry has the token of what it enters";
}

TEST(Linear, Permits) {
  const auto third = [](std::uint32_t weight) {
    return linear({acquire(0, 1, 1), acquire(0, 2, 2), acquire(3, 4, 3, 0, 0, weight),
                   release(5, 6, 1), release(7, 8, 2), release(9, 10, 3)},
                  Model::permits, 3);
  };
  EXPECT_EQ(third(1), Verdict::linear);
  EXPECT_EQ(third(2), Verdict::broken);
}

TEST(Linear, ManyThatOverlapAreJudgedInTime) {
  // Forty calls at once, granted one after the other; only the tokens tell the order.
  std::vector<Operation> operations;
  for (std::uint64_t i = 1; i <= 40; ++i) {
    const auto at = static_cast<std::int64_t>(100 * i);
    operations.push_back(acquire(0, at, i, 41 - i));
    operations.push_back(release(at + 1, at + 2, i));
  }
  EXPECT_EQ(linear(operations, Model::owner_aware_mutex), Verdict::linear);
  EXPECT_EQ(linear(operations, Model::fenced_mutex), Verdict::broken);
}

TEST(Linear, ALongHistoryIsCutWhereNothingIsClaimedThatHadNotReturned) {
  std::vector<Acquire> acquires;
  for (std::uint64_t op = 1; op <= 400; ++op) {
    const auto at = static_cast<std::int64_t>(10 * op);
    acquires.push_back({.op = op, .token = op, .asked = at - 30, .granted = at});
    acquires.back().release = at + 5;
    acquires.back().released = at + 6;
  }
  const std::vector<Operation> cut = operations_of(acquires, 0);
  EXPECT_LE(cut.size(), most_operations);
  EXPECT_GT(cut.size(), most_operations - 10);
  EXPECT_EQ(linear(cut, Model::fenced_mutex), Verdict::linear);
}

}  // namespace
}  // namespace holdfast::lab::testing
