// Goal: a history is the same after writing and reading it, every field counts, and an error names
// input that makes no sense. Method: histories made by hand.
#include <gtest/gtest.h>

#include <set>

#include "tale.hpp"

namespace holdfast::lab::testing {
namespace {

TEST(HistoryLines, AreReadAsTheyWereWritten) {
  Tale tale;
  tale.capacity(3).ask(0, 1, 0, 2, 7).store(1, What::store_granted, 9, 0, 5, 3001);
  tale.granted(2, 1, 5120, 2800, 9).write(3, What::accepted, 5120).lost(2800, 1, "gone");
  const History written = tale.history();
  History read;
  std::string problem;
  ASSERT_TRUE(read_lines(written.json_lines(), read, problem)) << problem;
  EXPECT_EQ(read.hash(), written.hash());
  EXPECT_EQ(read.text(), written.text());
}

TEST(HistoryLines, NameOfARealRunIsAnyText) {
  History history;
  std::string problem;
  ASSERT_TRUE(read_lines(R"({"boot_ns": 5, "proc": 3, "op": "acquire", "phase": "invoke", )"
                         R"("name": "a \"b\"", "id": 1, "thread": "main"})",
                         history, problem))
      << problem;
  EXPECT_EQ(history.events().front().what, What::ask);
  EXPECT_EQ(history.events().front().process, 3);
}

TEST(HistoryLines, BadInputIsOneClearLine) {
  const auto problem_of = [](std::string_view lines) {
    History history;
    std::string problem;
    EXPECT_FALSE(read_lines(lines, history, problem));
    return problem;
  };
  EXPECT_EQ(problem_of("hello"), "line 1: an object in { } is expected");
  EXPECT_EQ(problem_of("\n{\"op\":\"acquire\"}"), "line 2: boot_ns, op and phase are needed");
  EXPECT_EQ(problem_of(R"({"boot_ns":1,"op":"acquire","phase":"maybe"})"),
            "line 1: there is no op \"acquire\" in phase \"maybe\"");
  EXPECT_EQ(problem_of(R"({"boot_ns":1,"op":"lost","phase":"info","proc":99999})"),
            "line 1: \"proc\" is not a number that fits: 99999");
  EXPECT_EQ(problem_of(R"({"boot_ns":[1],"op":"lost","phase":"info"})"),
            "line 1: \"boot_ns\" needs a plain value");
  EXPECT_EQ(problem_of("{\"boot_ns\":2,\"op\":\"calm\",\"phase\":\"info\"}\n"
                       "{\"boot_ns\":1,\"op\":\"calm\",\"phase\":\"info\"}\n"),
            "line 2: it is earlier than the line before it");
}

TEST(History, HashSeesEveryField) {
  const Event plain{.at = 5, .what = What::sent};
  std::vector<Event> others(14, plain);
  others[0].at = 6;
  others[1].flag = true;
  others[2].process = 0;
  others[3].node = 0;
  others[4].name = 1;
  others[5].weight = 2;
  others[6].op = 1;
  others[7].claim = 1;
  others[8].token = 1;
  others[9].until = 1;
  others[10].note = "x";
  others[11].owner = 1;
  others[12].capacity = 2;
  others[13].what = What::arrived;
  std::set<std::uint64_t> hashes;
  others.push_back(plain);
  for (const Event& event : others) {
    History history;
    history.add(event);
    hashes.insert(history.hash());
  }
  EXPECT_EQ(hashes.size(), others.size());
}

}  // namespace
}  // namespace holdfast::lab::testing
