// Goal: a seed tells the same story every time. Method: 200 seeds twice, the second time in another
// order and after other stories; the hash covers everything that happened.
#include <gtest/gtest.h>

#include <map>

#include "lab/play.hpp"

namespace holdfast::lab {
namespace {

TEST(Determinism, ASeedTellsTheSameStoryTwice) {
  constexpr std::uint64_t seeds = 200;
  std::map<std::uint64_t, std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) hashes[seed] = play(plan_of(seed)).hash;
  for (std::uint64_t seed = seeds; seed >= 1; --seed)
    ASSERT_EQ(play(plan_of(seed)).hash, hashes[seed]) << "seed " << seed;
}

TEST(Determinism, SeedsDiffer) { EXPECT_NE(play(plan_of(1)).hash, play(plan_of(2)).hash); }

// Recording the wire changes nothing else. But beliefs are checked whenever anything is recorded,
// so they appear earlier.
TEST(Determinism, RecordingTheWireChangesNothing) {
  const auto essence = [](const History& history) {
    History kept;
    for (const Event& event : history.events()) {
      const bool wire =
          event.what == What::sent || event.what == What::vanished || event.what == What::arrived;
      const bool belief =
          event.what == What::renewed || event.what == What::believes || event.what == What::doubts;
      if (!wire && !belief) kept.add(event);
    }
    return kept.hash();
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Story plain = play(plan_of(seed));
    const Story wired = play(plan_of(seed), {.wire = true});
    ASSERT_EQ(essence(wired.history), essence(plain.history)) << "seed " << seed;
    ASSERT_EQ(wired.steps, plain.steps);
    ASSERT_GT(wired.history.events().size(), plain.history.events().size());
  }
}

}  // namespace
}  // namespace holdfast::lab
