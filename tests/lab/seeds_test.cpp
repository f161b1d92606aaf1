// Goal: whatever a seed makes of network, processes, clocks and store, the core keeps what the
// store's stated guarantees promise. Method: ten thousand plans are run, and every checker reads
// every history. A failure prints the seed, what was broken, and the shortest story that shows it.
#include <gtest/gtest.h>

#include <fstream>

#include "lab/shrink.hpp"

namespace holdfast::lab {
namespace {

// What happened, so that the test can prove that it met what it looks for.
struct Met {
  std::uint64_t granted = 0, lost = 0, refused = 0, calm = 0;
};

void play_one(std::uint64_t seed, Met& met) {
  const Plan plan = plan_of(seed);
  const Story story = play(plan);
  for (const Event& event : story.history.events()) {
    met.granted += event.what == What::granted;
    met.lost += event.what == What::lost;
    met.refused += event.what == What::refused;
    met.calm += event.what == What::calm;
  }
  const auto violations = check(story.history, story.expected);
  if (!violations.empty()) FAIL() << report(plan, violations.front());
}

constexpr std::uint64_t parts = 8;
constexpr std::uint64_t seeds = 10'000;

class Seeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Seeds, KeepWhatIsPromised) {
  Met met;
  const std::uint64_t first = GetParam() * seeds / parts + 1;
  const std::uint64_t last = (GetParam() + 1) * seeds / parts;
  for (std::uint64_t seed = first; seed <= last && !HasFatalFailure(); ++seed) play_one(seed, met);
  EXPECT_GT(met.granted, 20'000U);
  EXPECT_GT(met.lost, 100U);
  EXPECT_GT(met.refused, 3'000U);
  EXPECT_GT(met.calm, 300U);
}
INSTANTIATE_TEST_SUITE_P(Part, Seeds, testing::Range<std::uint64_t>(0, parts));

// Each of these once showed a bug.
TEST(KeptSeeds, StayMended) {
  std::ifstream file(HOLDFAST_KEPT_SEEDS);
  Met met;
  int count = 0;
  for (std::string line; std::getline(file, line) && !HasFatalFailure();) {
    if (line.empty() || line[0] == '#') continue;
    play_one(std::stoull(line), met);
    ++count;
  }
  EXPECT_GT(count, 0) << "no seeds in " << HOLDFAST_KEPT_SEEDS;
}

}  // namespace
}  // namespace holdfast::lab
