// Goal: wrong input is refused with the right exit status and one line that says what to write
// instead; no store is touched.
#include "cli.hpp"

namespace holdfast::cli_test {
namespace {

struct Case {
  std::string title;
  Words arguments;
  int code;
  std::string says;
};

class BadInput : public Cli, public testing::WithParamInterface<Case> {};

TEST_P(BadInput, IsRefusedInOneLine) {
  const auto& bad = GetParam();
  const auto outcome = holdfast(bad.arguments);
  EXPECT_EQ(outcome.code, bad.code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
  EXPECT_NE(outcome.err.find(bad.says), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
  EXPECT_FALSE(std::filesystem::exists(path("locks.db")));
}

std::string title_of(const testing::TestParamInfo<Case>& one) { return one.param.title; }
std::string numbered_title_of(const testing::TestParamInfo<Case>& one) {
  return one.param.title + std::to_string(one.index);
}

const Words then = {"--", "touch", "ran"};
const std::string forms = "1500ms, 30s, 5m or 2h";

Case ttl(const std::string& title, const std::string& value) {
  return {"Ttl" + title, Words{"run", "--ttl", value, "x"} + then, 64,
          title == "TooShort" || title == "TooLong" ? "1s to 720h" : forms};
}
Case wait(const std::string& title, const std::string& value) {
  return {"Wait" + title, Words{"run", "--wait=" + value, "x"} + then, 64, forms};
}

INSTANTIATE_TEST_SUITE_P(
    Usage, BadInput,
    testing::Values(
        Case{"Nothing", {}, 64, "holdfast help"},
        Case{"NoSuchCommand", {"lock", "x"}, 64, "no command 'lock'"},
        Case{"NoName", Words{"run"} + then, 64, "name is missing"},
        Case{"EmptyName", Words{"run", ""} + then, 64, "name must not be empty"},
        Case{"EmptyNameToShow", {"show", ""}, 64, "name must not be empty"},
        Case{"LongName", Words{"run", std::string(513, 'n')} + then, 64, "at most 512"},
        Case{"HugeName", Words{"break", std::string(100'000, 'n')}, 64, "at most 512"},
        Case{"NoSeparator", {"run", "x", "touch", "ran"}, 64, "behind --"},
        Case{"NoSeparatorNoCommand", {"run", "x"}, 64, "command is missing"},
        Case{"NoCommand", {"run", "x", "--"}, 64, "command is missing"},
        Case{"EmptyCommand", {"run", "x", "--", ""}, 64, "command is missing"},
        Case{"UnknownFlag", Words{"run", "--frobnicate", "x"} + then, 64, "--frobnicate"},
        Case{"UnknownFlagBefore", Words{"--frobnicate", "run", "x"} + then, 64, "--frobnicate"},
        Case{"UnknownShortFlag", Words{"run", "x", "-n"} + then, 64, "-n"},
        Case{"FlagOfAnother", {"ls", "--ttl", "30s"}, 64, "not an option of ls"},
        Case{"RepeatedFlag", Words{"run", "--ttl", "30s", "x", "--ttl", "30s"} + then, 64, "twice"},
        Case{"RepeatedGlobalFlag", Words{"--json", "run", "--json", "x"} + then, 64, "twice"},
        Case{"WaitAndNoWait", Words{"run", "--wait", "5s", "--no-wait", "x"} + then, 64,
             "exclude each other"},
        Case{"SharedAndPermits", Words{"run", "--shared", "--permits", "1/2", "x"} + then, 64,
             "exclude each other"},
        Case{"FlagWithoutValue", {"run", "x", "--ttl", "--", "touch", "ran"}, 64, "--ttl D"},
        Case{"FlagWithNeedlessValue", Words{"run", "--shared=yes", "x"} + then, 64,
             "takes no value"},
        Case{"TwoNames", {"show", "x", "y"}, 64, "one word too many"},
        Case{"OnLost", Words{"run", "--on-lost", "panic", "x"} + then, 64, "stop or warn"},
        Case{"KillTree", Words{"run", "--kill-tree=all", "x"} + then, 64, "--kill-tree=pidns"},
        Case{"StatusNotANumber", Words{"run", "--status-fd", "three", "x"} + then, 64,
             "--status-fd 3"},
        Case{"StatusNotOpen", Words{"run", "--status-fd", "77", "x"} + then, 64, "77>FILE"},
        Case{"PermitsWithoutTotal", Words{"run", "--permits", "2", "x"} + then, 64, "K/N"},
        Case{"PermitsZero", Words{"run", "--permits", "0/2", "x"} + then, 64, "K/N"},
        Case{"PermitsTooMany", Words{"run", "--permits", "3/2", "x"} + then, 64, "K at most N"},
        Case{"HelpOfNothing", {"help", "frobnicate"}, 64, "no command"}),
    title_of);

INSTANTIATE_TEST_SUITE_P(
    Duration, BadInput,
    testing::Values(ttl("Bare", "10"), ttl("Negative", "-1"), ttl("NegativeSeconds", "-1s"),
                    ttl("Fraction", "0.0001"), ttl("FractionOfSeconds", "1.5s"), ttl("NaN", "NaN"),
                    ttl("Infinite", "inf"), ttl("Exponent", "1e30"),
                    ttl("HugeBare", "9223372036854775807"), ttl("Huge", "9223372036854775807s"),
                    ttl("Huger", "99999999999999999999h"), ttl("UnknownUnit", "10q"),
                    ttl("Trailing", "5m5"), ttl("LeadingSpace", " 5s"), ttl("TrailingSpace", "5s "),
                    ttl("OtherDigits", "٣s"), ttl("Empty", ""), ttl("OnlyUnit", "s"),
                    ttl("UpperCase", "5S"), ttl("Plus", "+5s"), ttl("Forever", "forever"),
                    ttl("TooShort", "0s"), ttl("TooShort", "999ms"), ttl("TooLong", "721h"),
                    wait("Bare", "10"), wait("Zero", "0"), wait("Negative", "-1s"),
                    wait("NaN", "NaN"), wait("Exponent", "1e30"), wait("Huge", "9223372036855s"),
                    wait("Trailing", "5m5"), wait("Never", "never")),
    numbered_title_of);

INSTANTIATE_TEST_SUITE_P(
    Command, BadInput,
    testing::Values(
        Case{"NotFound", {"run", "x", "--", "no-such-command-anywhere"}, 127, "not found"},
        Case{"PathNotFound", {"run", "x", "--", "./no-such-file"}, 127, "not found"},
        Case{"Folder", {"run", "x", "--", "/"}, 126, "not an executable"},
        Case{"NotExecutable", {"run", "x", "--", "/etc/passwd"}, 126, "not an executable"}),
    title_of);

INSTANTIATE_TEST_SUITE_P(
    Store, BadInput,
    testing::Values(Case{"UnknownScheme", Words{"run", "--store", "carrier-pigeon://h", "x"} + then,
                         78, "sqlite"},
                    Case{"NoScheme", Words{"run", "--store", "locks", "x"} + then, 78, "scheme"},
                    Case{"Empty", Words{"run", "--store", "", "x"} + then, 78, "scheme"},
                    Case{"BadPort", Words{"ls", "--store", "redis://h:65536"}, 78, "port"},
                    Case{"BadKeep", Words{"ls", "--store", "redis://h?keep=-1s"}, 78, "1s to"},
                    Case{"BadBracket", Words{"ls", "--store", "redis://[::1"}, 78, "]"}),
    title_of);

class Environment : public Cli {};

TEST_F(Environment, AStoreThatMakesNoSenseIsAMatterOfConfiguration) {
  auto bad = plan(Words{"run", "x"} + then);
  bad.environment["HOLDFAST_STORE"] = "%%%";
  EXPECT_EQ(Running(bad).wait().code, 78);
}

TEST_F(Environment, WithoutStoreAndHomeItSaysWhatToWrite) {
  auto homeless = plan(Words{"run", "x"} + then);
  homeless.environment = {{"HOLDFAST_STORE", {}}, {"HOME", {}}, {"XDG_STATE_HOME", {}}};
  const auto outcome = Running(homeless).wait();
  EXPECT_EQ(outcome.code, 78);
  EXPECT_NE(outcome.err.find("--store"), std::string::npos) << outcome.err;
}

TEST_F(Environment, AnErrorIsAnObjectWithJson) {
  const auto outcome = holdfast(Words{"run", "--json", "--store", "nonsense", "x"} + then);
  EXPECT_EQ(outcome.code, 78);
  EXPECT_TRUE(outcome.err.starts_with("{\"error\":")) << outcome.err;
}

}  // namespace
}  // namespace holdfast::cli_test
