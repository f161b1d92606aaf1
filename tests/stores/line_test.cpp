// Goal: which claims of a line are in, and what the others wait for, with any store.
#include "stores/common/line.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::stores {
namespace {

struct Claim {
  Shape shape;
};
using Line = std::vector<Claim>;

Line line_of(Kind kind, std::uint32_t capacity, std::initializer_list<std::uint32_t> weights) {
  Line line;
  for (const std::uint32_t weight : weights) line.push_back({{kind, capacity, weight}});
  return line;
}

Ahead place(std::size_t of) { return {.place = of}; }

TEST(Line, TheFirstOfAMutexIsIn) {
  EXPECT_EQ(granted(Line()), 0U);
  EXPECT_EQ(granted(line_of(Kind::mutex, 1, {1})), 1U);
  EXPECT_EQ(granted(line_of(Kind::mutex, 1, {1, 1, 1})), 1U);
}

TEST(Line, ReadersAreInUpToTheFirstWriter) {
  EXPECT_EQ(granted(line_of(Kind::rw, 100, {1, 1, 100, 1})), 2U);
  EXPECT_EQ(granted(line_of(Kind::rw, 100, {100, 1, 1})), 1U);
}

TEST(Line, WeightsAreAddedUpAndNobodyOvertakes) {
  EXPECT_EQ(granted(line_of(Kind::semaphore, 5, {3, 2, 1})), 2U);
  EXPECT_EQ(granted(line_of(Kind::semaphore, 5, {3, 3, 1})), 1U);
  constexpr std::uint32_t most = 0xffff'ffff;
  EXPECT_EQ(granted(line_of(Kind::semaphore, most, {most, most})), 1U);
}

TEST(Line, WhoWantsAllOfItWaitsForItsPredecessor) {
  EXPECT_EQ(ahead_of(line_of(Kind::mutex, 1, {1, 1, 1}), 2), place(1));
  EXPECT_EQ(ahead_of(line_of(Kind::rw, 9, {1, 1, 9}), 2), place(1));
}

TEST(Line, AReaderWaitsForTheWriterBeforeIt) {
  EXPECT_EQ(ahead_of(line_of(Kind::rw, 9, {1, 9, 1, 1}), 3), place(1));
}

TEST(Line, OfASemaphoreTheFirstWaitsForAnyEndAndTheOthersForTheOneBefore) {
  const Line line = line_of(Kind::semaphore, 3, {1, 2, 2, 1});
  EXPECT_TRUE(ahead_of(line, 2).any);
  EXPECT_EQ(ahead_of(line, 3), place(2));
  EXPECT_TRUE(wakes_next(line, 2));
  EXPECT_FALSE(wakes_next(line, 3));  // Nobody is behind it.
  EXPECT_FALSE(wakes_next(line_of(Kind::mutex, 1, {1, 1}), 0));
}

TEST(Line, AnotherKindOrCapacityIsNamed) {
  const Shape three{Kind::semaphore, 3, 1};
  EXPECT_EQ(misfit(three, {Kind::semaphore, 3, 2}).errc, Errc{});
  const Problem other = misfit(three, {Kind::semaphore, 4, 1});
  EXPECT_EQ(other.text, "it is in use as semaphore of 3, asked for as semaphore of 4");
  EXPECT_EQ(misfit(three, {Kind::mutex, 3, 1}).reason, "kind");
}

TEST(Line, WhatIsOfNoKnownKindStandsAlone) {
  Line line = line_of(Kind::mutex, 1, {1, 1});
  line[0].shape = unknown_shape;
  EXPECT_EQ(granted(line), 1U);
  line = line_of(Kind::rw, 9, {1, 1, 1});
  line[1].shape = unknown_shape;
  EXPECT_EQ(granted(line), 1U);
  EXPECT_EQ(ahead_of(line, 2), place(1));
}

}  // namespace
}  // namespace holdfast::stores
