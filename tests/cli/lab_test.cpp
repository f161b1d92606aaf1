// Goal: `holdfast lab` plays, draws and replays; wrong input is refused in one line that says what
// there is and what to write.
#include "cli.hpp"

namespace holdfast::cli_test {
namespace {

class Lab : public Cli {
 protected:
  Outcome lab(const Words& words) { return holdfast(Words{"lab"} + words); }
};

TEST_F(Lab, ListsWhatThereIsAndWhatBecomesOfIt) {
  const auto outcome = lab({"list"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const std::string word :
       {"setnx ", "redlock-pause ", "zookeeper-session ", "broken", "clean", "contained"})
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word << outcome.out;
}

TEST_F(Lab, ShowsAnExhibitWithoutColoursToWhatIsNoTerminal) {
  const auto outcome = lab({"show", "watchdog-pause"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  EXPECT_NE(outcome.out.find("A and B hold it at once"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("next: holdfast lab show watchdog-pause-fenced"), std::string::npos);
}

TEST_F(Lab, ShowsItInAsciiWhereThereIsNoUtf8) {
  auto old = plan({"lab", "show", "watchdog-pause"});
  old.environment["LC_ALL"] = "C";
  const auto outcome = Running(old).wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(std::ranges::none_of(outcome.out, [](char c) { return (c & 0x80) != 0; }))
      << outcome.out;
}

TEST_F(Lab, DrawsAPictureForDayAndNight) {
  const auto outcome = lab({"show", "redlock", "--svg", path("redlock.svg")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto picture = read("redlock.svg");
  EXPECT_TRUE(picture.starts_with("<svg ")) << picture.substr(0, 80);
  EXPECT_TRUE(picture.ends_with("</svg>\n"));
  EXPECT_NE(picture.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST_F(Lab, WritesAPageThatNeedsNoOtherFile) {
  const auto outcome = lab({"show", "--html", path("page.html"), "redlock"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto page = read("page.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>")) << page.substr(0, 80);
  EXPECT_NE(page.find("</svg>"), std::string::npos);
  for (const std::string elsewhere : {"src=", "href=", "@import", "<script"})
    EXPECT_EQ(page.find(elsewhere), std::string::npos) << elsewhere;
}

TEST_F(Lab, ReplaysASeed) {
  const auto first = lab({"replay", "7"});
  EXPECT_EQ(first.code, 0) << first.out << first.err;
  EXPECT_TRUE(first.out.starts_with("seed 7\n")) << first.out;
  EXPECT_EQ(lab({"replay", "0x7"}).out, first.out);
}

TEST_F(Lab, HelpNamesTheCommands) {
  for (const std::string help : {"--help", "-h", "help"}) {
    const auto outcome = lab({help});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("show NAME [--svg FILE | --html FILE]"), std::string::npos);
  }
  EXPECT_NE(holdfast({"help"}).out.find("\n  lab "), std::string::npos);
}

// A copy of the command without the laboratory beside it.
TEST_F(Lab, SaysSoIfItIsNotThere) {
  std::filesystem::copy_file(binary, path("alone"));
  auto lonely = plan({"run", "x", "--", path("alone"), "lab", "list"});
  lonely.environment["LD_LIBRARY_PATH"] = std::filesystem::path(binary).parent_path().string();
  const auto outcome = Running(lonely).wait();
  EXPECT_EQ(outcome.code, 127) << outcome.err;
  EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
  EXPECT_NE(outcome.err.find("holdfast-lab"), std::string::npos) << outcome.err;
}

struct Bad {
  std::string title;
  Words words;
  int code;
  std::string says;
};
class BadLabInput : public Lab, public testing::WithParamInterface<Bad> {};

TEST_P(BadLabInput, IsRefusedInOneLine) {
  const auto& bad = GetParam();
  const auto outcome = lab(bad.words);
  EXPECT_EQ(outcome.code, bad.code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("holdfast: ")) << outcome.err;
  EXPECT_NE(outcome.err.find(bad.says), std::string::npos) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadLabInput,
    testing::Values(
        Bad{"Nothing", {}, 64, "holdfast lab --help"},
        Bad{"NoSuchCommand", {"shwo"}, 64, "there are list, show, "},
        Bad{"NoName", {"show"}, 64, "holdfast lab list"},
        Bad{"NoSuchExhibit", {"show", "setxn"}, 64, "there are setnx, setnx-expire, "},
        Bad{"HostileExhibit", {"show", "\x1b[2J\n"}, 64, "x1b[2J"},
        Bad{"TwoNames", {"show", "setnx", "redlock"}, 64, "one word too many"},
        Bad{"UnknownFlag", {"show", "setnx", "--png", "f"}, 64, "--svg FILE | --html FILE"},
        Bad{"NoFile", {"show", "setnx", "--svg"}, 64, "--svg FILE"},
        Bad{"TwoForms", {"show", "setnx", "--svg", "a", "--html", "b"}, 64, "exclude each other"},
        Bad{"NoSuchFolder", {"show", "setnx", "--svg", "no/such/f.svg"}, 73, "folder that exists"},
        Bad{"AFolder", {"show", "setnx", "--html", "/"}, 73, "Is a directory"},
        Bad{"FullDisk", {"show", "setnx", "--svg", "/dev/full"}, 73, "No space left"},
        Bad{"NoSeed", {"replay"}, 64, "replay SEED"},
        Bad{"SeedOfLetters", {"replay", "banana"}, 64, "18446744073709551615"},
        Bad{"SeedTooLarge", {"replay", "18446744073709551616"}, 64, "18446744073709551615"},
        Bad{"SeedNegative", {"replay", "-1"}, 64, "18446744073709551615"},
        Bad{"SeedEmpty", {"replay", ""}, 64, "18446744073709551615"},
        Bad{"HazardsNowhere", {"hazards"}, 64, "--into FOLDER"},
        Bad{"HazardsUnwritable", {"hazards", "--into", "/proc/none"}, 73, "/proc/none"}),
    [](const testing::TestParamInfo<Bad>& one) { return one.param.title; });

}  // namespace
}  // namespace holdfast::cli_test
