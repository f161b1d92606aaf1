// Goal: the laboratory is not blind. Setups that are known to break must be seen to break, and the
// same plans with the cure must not. Method: one list of seeds, two stores.
#include <gtest/gtest.h>

#include <algorithm>

#include "lab/shrink.hpp"

namespace holdfast::lab {
namespace {

constexpr std::uint64_t plans = 400;

bool complains(const Story& story, Checker checker) {
  return std::ranges::any_of(check(story.history, story.expected),
                             [&](const Violation& found) { return found.checker == checker; });
}

// How many seeds show two holders at once, judged as if the store had promised there are none.
int doubles(Shape shape, Memory memory, bool guard) {
  int count = 0;
  for (std::uint64_t seed = 1; seed <= plans; ++seed) {
    Plan plan = plan_of(seed, shape, memory, guard);
    std::erase_if(plan.faults, [](const Fault& fault) {  // nobody promises anything under these
      return fault.kind == Fault::Kind::jump_clock || fault.kind == Fault::Kind::revoke;
    });
    Story story = play(plan);
    story.expected.exclusive = true;
    count += complains(story, Checker::exclusion);
  }
  return count;
}

TEST(KnownBad, FailoverToAnAsynchronousReplica) {
  EXPECT_GT(doubles(Shape::replicated, Memory::kept, false), 0);
  EXPECT_EQ(doubles(Shape::replicated, Memory::kept, true), 0) << "with the guard";
}

TEST(KnownBad, ANodeThatForgets) {
  EXPECT_GT(doubles(Shape::single, Memory::lost, false), 0);
  EXPECT_EQ(doubles(Shape::single, Memory::lost, true), 0) << "with the guard";
}

TEST(KnownBad, ANodeThatLosesTheLastSecond) {
  EXPECT_GT(doubles(Shape::single, Memory::tail_lost, false), 0);
  EXPECT_EQ(doubles(Shape::single, Memory::tail_lost, true), 0) << "with the guard";
}

// The lock is in order, yet an old holder, which stood still in between, writes after a new one.
TEST(KnownBad, UnfencedWritesUnderPauses) {
  int stale = 0;
  for (std::uint64_t seed = 1; seed <= plans; ++seed) {
    Plan plan = plan_of(seed, Shape::single, Memory::kept, true);
    for (LockPlan& lock : plan.locks) lock = {.ttl = lock.ttl};  // mutexes
    std::erase_if(plan.faults, [](const Fault& fault) {
      return fault.kind != Fault::Kind::pause || fault.process == nobody;
    });
    Story story = play(plan);
    ASSERT_FALSE(complains(story, Checker::fencing)) << "seed " << seed << ", with fencing";
    story.expected.unfenced = true;
    stale += complains(story, Checker::fencing);
  }
  EXPECT_GT(stale, 0);
}

}  // namespace
}  // namespace holdfast::lab
