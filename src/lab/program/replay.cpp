// replay: the story of a seed and, if it broke a promise, the shortest story that still does.
#include <algorithm>

#include "cli/output.hpp"
#include "lab/program/program.hpp"
#include "lab/shrink.hpp"

namespace holdfast::lab::program {
namespace {

std::string text_of(const Violation& violation) {
  return std::string(to_string(violation.checker)) + ": " + violation.text;
}

// The time shortly before and after the violation.
draw::Picture close_up(const Story& story, const Violation& violation) {
  draw::Picture picture{story.history, {}};
  const auto ttl = story.expected.ttl.count();
  picture.from = violation.at - 2 * ttl;
  picture.to = violation.at + ttl / 2;
  picture.marks = {{.at = violation.at, .text = text_of(violation)}};
  return picture;
}

std::string events_of(const draw::Picture& picture) {
  History part;
  for (const Event& event : picture.history.events())
    if (event.at >= picture.from && event.at <= picture.to) part.add(event);
  return part.text();
}

int show_violation(const Plan& plan, const Violation& violation) {
  const Plan shortest = shrink(plan, violation.checker);
  const Story story = play(shortest, {.wire = true});
  const auto found = lab::check(story.history, story.expected);
  const auto same = std::ranges::find(found, violation.checker, &Violation::checker);
  auto picture = close_up(story, same == found.end() ? violation : *same);
  picture.title = "the shortest story that shows it";
  picture.outcome = picture.marks[0].text;
  cli::print("the shortest plan that shows it:\n" + text(shortest) + "\n" +
             draw::timeline(picture, style_of_terminal()) + "\n" + events_of(picture));
  return 1;
}

}  // namespace

int replay(Words words) {
  if (words.size() != 1) throw bad_usage("usage: holdfast lab replay SEED");
  const Plan plan = plan_of(seed_of(words[0]));
  const Story story = play(plan);
  const auto found = lab::check(story.history, story.expected);
  cli::print(text(plan) + "\n");
  if (!found.empty()) {
    for (const Violation& violation : found)
      cli::print("at " + draw::milliseconds(violation.at) + " ms: " + text_of(violation) + "\n");
    cli::print("\n");
    return show_violation(plan, found.front());
  }
  draw::Picture picture{story.history, {}};
  picture.title = "seed " + std::to_string(plan.seed);
  picture.outcome = std::to_string(story.history.events().size()) + " events in " +
                    draw::milliseconds(story.history.events().back().at) +
                    " ms, and no promise was broken";
  cli::print(draw::timeline(picture, style_of_terminal()));
  return cli::exit_code::ok;
}

}  // namespace holdfast::lab::program
