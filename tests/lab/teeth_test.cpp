// Goal: every fault that can be planted in the core or in a simulated store is found within 2,000
// seeds, by a checker that should find it; one that survives fails the test under its own name.
// Method: stories from seeds with the mutation on. A seed that fails without it proves nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "core/teeth.hpp"
#include "lab/check/check.hpp"
#include "lab/play.hpp"

namespace holdfast::lab {
namespace {

using core::Mutation;

constexpr std::uint64_t seeds = 2000;

struct Tooth {
  const char* name;
  Mutation mutation;
  std::vector<Checker> caught_by;  // any of them

  friend void PrintTo(const Tooth& tooth, std::ostream* out) { *out << tooth.name; }
};

const std::vector<Tooth>& teeth() {
  using enum Checker;
  static const std::vector<Tooth> all{
      {"validity_from_answer", Mutation::validity_from_answer, {lost, belief, exclusion}},
      {"handed_from_arrival", Mutation::handed_from_arrival, {lost, belief, exclusion}},
      {"lost_after_end", Mutation::lost_after_end, {lost}},
      {"wall_clock", Mutation::wall_clock, {belief, lost}},
      {"handover_unconfirmed", Mutation::handover_unconfirmed, {belief, exclusion}},
      {"withdrawn_id", Mutation::withdrawn_id, {belief, exclusion}},
      {"no_withdrawal", Mutation::no_withdrawal, {residue}},
      {"anybody_enters", Mutation::anybody_enters, {exclusion}},
      {"endless_handover", Mutation::endless_handover, {fairness}},
      {"resurrection", Mutation::resurrection, {lost}},
      {"ask_anew", Mutation::ask_anew, {residue}},
      {"silent_loss", Mutation::silent_loss, {lost}},
      {"same_turn", Mutation::same_turn, {fencing}},
      {"debt_forgotten", Mutation::debt_forgotten, {residue}},
      {"reader_joins_writer", Mutation::reader_joins_writer, {exclusion}},
      {"early_grant_dropped", Mutation::early_grant_dropped, {liveness}},
      {"last_first", Mutation::last_first, {fairness}},
      {"eager_renewal", Mutation::eager_renewal, {cost}},
      {"polling", Mutation::polling, {cost}},
      {"release_any", Mutation::release_any, {belief, exclusion}},
      {"renew_any", Mutation::renew_any, {belief, exclusion}},
      {"renew_creates", Mutation::renew_creates, {belief, exclusion, residue}},
      {"number_reset", Mutation::number_reset, {fencing}},
      {"number_second_step", Mutation::number_second_step, {fencing}},
      {"mark_ignored", Mutation::mark_ignored, {residue, exclusion, belief}},
      {"one_too_many", Mutation::one_too_many, {exclusion}},
      {"newest_first", Mutation::newest_first, {fairness}},
      {"old_session", Mutation::old_session, {belief, exclusion, residue, liveness}},
      {"never_expires", Mutation::never_expires, {liveness, residue}},
      {"told_for_ever", Mutation::told_for_ever, {residue, liveness}},
  };
  return all;
}

std::vector<Violation> violations(std::uint64_t seed, Mutation mutation) {
  core::switches.mutation = mutation;
  const Story story = play(plan_of(seed));
  core::switches.mutation = Mutation::none;
  return check(story.history, story.expected);
}

bool found(const std::vector<Violation>& violations, const Tooth& tooth) {
  return std::ranges::any_of(violations, [&](const Violation& one) {
    return std::ranges::count(tooth.caught_by, one.checker) > 0;
  });
}

class Teeth : public ::testing::TestWithParam<Tooth> {};

TEST_P(Teeth, Bite) {
  const Tooth& tooth = GetParam();
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::vector<Violation> bitten = violations(seed, tooth.mutation);
    if (!found(bitten, tooth) || found(violations(seed, Mutation::none), tooth)) continue;
    RecordProperty("seed", std::to_string(seed));
    return;
  }
  FAIL() << "the mutation " << tooth.name << " survived " << seeds << " seeds";
}

INSTANTIATE_TEST_SUITE_P(All, Teeth, ::testing::ValuesIn(teeth()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(TeethTable, NamesEveryMutation) {
  for (int i = 1; i < static_cast<int>(Mutation::count_); ++i)
    EXPECT_EQ(std::ranges::count(teeth(), static_cast<Mutation>(i), &Tooth::mutation), 1)
        << "mutation number " << i;
  EXPECT_GE(teeth().size(), 18U);
}

}  // namespace
}  // namespace holdfast::lab
