// Goal: every exhibit shows what it says: those that must break do, those with the cure do not, by
// a verdict computed from what happened; and each can be drawn.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "lab/draw/draw.hpp"
#include "lab/draw/text.hpp"
#include "lab/exhibits/exhibit.hpp"
#include "lab/exhibits/verdict.hpp"

namespace holdfast::lab::exhibits {
namespace {

using Kind = Finding::Kind;

struct Expected {
  Outcome outcome;
  std::set<Kind> found;
};
const Expected locked_for_ever{Outcome::broken, {Kind::locked}};
const Expected two_at_once{Outcome::broken, {Kind::two_holders}};
const Expected damaged{Outcome::broken, {Kind::two_holders, Kind::old_write}};
const Expected contained{Outcome::contained, {Kind::two_holders, Kind::refused}};
const Expected clean{Outcome::clean, {}};

const std::map<std::string_view, Expected> expected{
    {"setnx", locked_for_ever},
    {"setnx-expire", locked_for_ever},
    {"plain-del", two_at_once},
    {"get-then-del", two_at_once},
    {"owner-script", clean},
    {"fixed-ttl", two_at_once},
    {"watchdog", clean},
    {"watchdog-pause", damaged},
    {"watchdog-pause-fenced", contained},
    {"herd-polling", clean},
    {"herd-notification", clean},
    {"herd-handover", clean},
    {"failover", damaged},
    {"failover-token", damaged},
    {"failover-fenced", contained},
    {"redlock", clean},
    {"redlock-clock-jump", damaged},
    {"redlock-clock-jump-fenced", contained},
    {"redlock-pause", damaged},
    {"redlock-pause-fenced", contained},
    {"redlock-empty-restart", damaged},
    {"redlock-empty-restart-fenced", contained},
    {"zookeeper-session", damaged},
    {"zookeeper-session-fenced", contained},
    {"database-row", locked_for_ever},
    {"database-row-swept", damaged},
    {"database-row-fenced", contained},
};

std::set<Kind> kinds_of(const Verdict& verdict) {
  std::set<Kind> kinds;
  for (const Finding& finding : verdict.findings) kinds.insert(finding.kind);
  return kinds;
}

class Exhibits : public testing::TestWithParam<Exhibit> {
 protected:
  Exhibits()
      : performance_(perform(GetParam())),
        verdict_(judge(performance_.history)),
        picture_{.history = performance_.history,
                 .cast = performance_.cast,
                 .title = std::string(GetParam().title),
                 .outcome = verdict_.text(performance_.cast),
                 .marks = verdict_.marks(performance_.cast)} {}

  Performance performance_;
  Verdict verdict_;
  draw::Picture picture_;
};

TEST_P(Exhibits, EndsAsItMust) {
  const auto& wanted = expected.at(GetParam().name);
  EXPECT_EQ(verdict_.outcome, wanted.outcome) << verdict_.text(performance_.cast);
  EXPECT_EQ(kinds_of(verdict_), wanted.found) << verdict_.text(performance_.cast);
}

TEST_P(Exhibits, IsTheSameEveryTime) {
  EXPECT_EQ(perform(GetParam()).history.hash(), performance_.history.hash());
}

TEST_P(Exhibits, ExplainsItselfAndLeadsOn) {
  EXPECT_FALSE(GetParam().algorithm.empty());
  EXPECT_FALSE(GetParam().story.empty());
  EXPECT_FALSE(GetParam().lesson.empty());
  const bool last = all().back().name == GetParam().name;
  EXPECT_EQ(GetParam().next.empty(), last);
  EXPECT_TRUE(last || find(GetParam().next)) << GetParam().next;
}

TEST_P(Exhibits, FitsATerminalOfAnyKind) {
  for (const bool utf8 : {true, false}) {
    const auto text = draw::timeline(picture_, {.width = 100, .colours = false, .utf8 = utf8});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(draw::columns_of(line), 100U) << line;
      EXPECT_EQ(line.find('\x1b'), line.npos) << line;
    }
    const bool foreign = std::ranges::any_of(text, [](char c) { return (c & 0x80) != 0; });
    EXPECT_TRUE(utf8 || !foreign) << text;
  }
  EXPECT_NE(draw::timeline(picture_, {.colours = true}).find("\x1b["), std::string::npos);
}

TEST_P(Exhibits, ShowsWhereItGoesWrong) {
  const bool broken = verdict_.outcome == Outcome::broken;
  EXPECT_EQ(picture_.bad(), broken);
  EXPECT_EQ(draw::svg(picture_).find("class=\"badline\"") != std::string::npos, broken);
  const auto text = draw::timeline(picture_, {.utf8 = false});
  EXPECT_EQ(text.find("^^") != std::string::npos, broken) << text;
}

std::string title_of(const testing::TestParamInfo<Exhibit>& one) {
  std::string title(one.param.name);
  std::ranges::replace(title, '-', '_');
  return title;
}
INSTANTIATE_TEST_SUITE_P(All, Exhibits, testing::ValuesIn(all().begin(), all().end()), title_of);

TEST(Exhibition, HasAllThatAreExpectedAndNoOther) {
  std::set<std::string_view> there;
  for (const auto& exhibit : all()) EXPECT_TRUE(there.insert(exhibit.name).second) << exhibit.name;
  for (const auto& [name, verdict] : expected) EXPECT_EQ(there.count(name), 1U) << name;
  EXPECT_EQ(there.size(), expected.size());
}

TEST(Exhibition, CountsWhatWaitingCosts) {
  const auto commands = [](std::string_view name) {
    const auto verdict = judge(perform(*find(name)).history);
    EXPECT_EQ(verdict.grants, 5U) << name;
    return verdict.commands;
  };
  EXPECT_GT(commands("herd-polling"), commands("herd-notification"));
  EXPECT_GT(commands("herd-notification"), commands("herd-handover"));
  EXPECT_EQ(commands("herd-handover"), 10U);  // two per process, whichever waits
}

// ── the verdict itself ──────────────────────────────────────────────────────────────────────────

History history_of(std::initializer_list<Event> events) {
  History history;
  for (const Event& event : events) history.add(event);
  return history;
}

Event granted(std::int64_t at, std::int16_t process, std::uint64_t op) {
  return {.at = at, .what = What::granted, .process = process, .op = op};
}
Event released(std::int64_t at, std::int16_t process, std::uint64_t op) {
  return {.at = at, .what = What::release, .process = process, .op = op};
}
Event wrote(std::int64_t at, std::int16_t process, std::uint64_t op, What what) {
  return {.at = at, .what = what, .process = process, .op = op};
}

TEST(AVerdict, OfOneAfterTheOtherIsClean) {
  const auto verdict =
      judge(history_of({granted(1, 0, 1), released(2, 0, 1), granted(2, 1, 2), released(3, 1, 2)}));
  EXPECT_EQ(verdict.outcome, Outcome::clean);
  EXPECT_EQ(verdict.grants, 2U);
}

TEST(AVerdict, NamesTwoHoldersAndForHowLong) {
  const auto verdict =
      judge(history_of({granted(1, 0, 1), granted(3, 1, 2), released(5, 0, 1), released(7, 1, 2)}));
  EXPECT_EQ(verdict.outcome, Outcome::broken);
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_EQ(verdict.findings[0].at, 3);
  EXPECT_EQ(verdict.findings[0].until, 5);
}

TEST(AVerdict, OfTwoHoldersIsContainedOnlyIfTheOlderWasRefused) {
  const auto of = [](What late) {
    return judge(history_of({granted(1, 0, 1), granted(3, 1, 2), wrote(4, 1, 2, What::accepted),
                             wrote(5, 0, 1, late), released(6, 0, 1), released(7, 1, 2)}));
  };
  EXPECT_EQ(of(What::rejected).outcome, Outcome::contained);
  EXPECT_EQ(of(What::accepted).outcome, Outcome::broken);
  EXPECT_EQ(kinds_of(of(What::accepted)), (std::set{Kind::two_holders, Kind::old_write}));
}

TEST(AVerdict, IsLockedForEverOnlyIfTheKeyHasNoEndAndSomebodyAsks) {
  const auto of = [](std::int64_t end, bool asks) {
    History history = history_of(
        {{.at = 1, .what = What::store_granted, .process = 0, .node = 0, .op = 1, .until = end},
         {.at = 2, .what = What::crash, .process = 0}});
    if (asks) history.add({.at = 3, .what = What::ask, .process = 1, .op = 2});
    return judge(history).outcome;
  };
  EXPECT_EQ(of(0, true), Outcome::broken);
  EXPECT_EQ(of(9, true), Outcome::clean);
  EXPECT_EQ(of(0, false), Outcome::clean);
}

}  // namespace
}  // namespace holdfast::lab::exhibits
