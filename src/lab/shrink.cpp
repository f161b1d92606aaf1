#include "lab/shrink.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::lab {
namespace {

bool complains(const Plan& plan, Checker checker) {
  const Story story = play(plan);
  return std::ranges::any_of(check(story.history, story.expected), [&](const Violation& violation) {
    return violation.checker == checker;
  });
}

// Keeps the change if the violation remains.
void attempt(Plan& plan, Checker checker, auto&& change) {
  Plan smaller = plan;
  change(smaller);
  if (complains(smaller, checker)) plan = std::move(smaller);
}

}  // namespace

Plan shrink(Plan plan, Checker checker) {
  for (std::size_t i = plan.faults.size(); i-- > 0;)
    attempt(plan, checker, [&](Plan& smaller) {
      smaller.faults.erase(smaller.faults.begin() + static_cast<std::ptrdiff_t>(i));
    });
  attempt(plan, checker, [](Plan& smaller) { smaller.rare = 0; });
  attempt(plan, checker, [](Plan& smaller) { smaller.noise = {}; });
  for (unsigned rounds = 1; rounds < plan.habit.rounds; rounds *= 2) {
    Plan smaller = plan;
    smaller.habit.rounds = rounds;
    if (!complains(smaller, checker)) continue;
    plan = std::move(smaller);
    break;
  }
  return plan;
}

std::string report(const Plan& plan, const Violation& violation) {
  const Plan shortest = shrink(plan, violation.checker);
  const Story story = play(shortest);
  return "seed " + std::to_string(plan.seed) + ": " + std::string(to_string(violation.checker)) +
         ": " + violation.text + "\n\nthe shortest plan that shows it:\n" + text(shortest) + "\n" +
         story.history.text();
}

}  // namespace holdfast::lab
