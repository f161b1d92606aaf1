// Goal: a run inside a run re-enters the same name, takes others as usual, never locks in the wrong
// store, and no password leaks on the way (X03).
#include "cli.hpp"

#include <csignal>
#include <fstream>

namespace holdfast::cli_test {
namespace {

class Nesting : public Cli {
 protected:
  Words run(const Words& flags_and_name) const {
    return Words{binary, "run", "--no-wait"} + flags_and_name + Words{"--"};
  }
};

TEST_F(Nesting, TheSameNameIsEnteredAgainWithTheSameToken) {
  const Words print = {"sh", "-c", "echo $HOLDFAST_TOKEN"};
  const auto outcome = holdfast(Words{
      "run", "x", "--", "sh", "-c",
      "echo $HOLDFAST_TOKEN; " + binary + " run --no-wait x -- sh -c 'echo $HOLDFAST_TOKEN'"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto half = outcome.out.size() / 2;
  EXPECT_EQ(outcome.out.substr(0, half), outcome.out.substr(half));
}

TEST_F(Nesting, ADifferentNameIsTakenAsUsual) {
  const auto outcome =
      holdfast(Words{"run", "x", "--"} + run({"y"}) + Words{binary, "ls", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\"name\":\"x\""), std::string::npos);
  EXPECT_NE(outcome.out.find("\"name\":\"y\""), std::string::npos);
}

TEST_F(Nesting, AnOuterNameIsEnteredAgainThroughAnother) {
  const auto outcome = holdfast(Words{"run", "x", "--"} + run({"y"}) + run({"x"}) +
                                Words{"sh", "-c", "echo $HOLDFAST_NAME"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "x\n");
}

TEST_F(Nesting, ExitStatusComesThrough) {
  EXPECT_EQ(holdfast(Words{"run", "x", "--"} + run({"x"}) + Words{"sh", "-c", "exit 9"}).code, 9);
}

TEST_F(Nesting, AReaderMayNotBecomeAWriter) {
  const auto outcome = holdfast(Words{"run", "--shared", "x", "--"} + run({"x"}) + Words{"true"});
  EXPECT_EQ(outcome.code, 78);
  EXPECT_NE(outcome.err.find("wait for itself"), std::string::npos) << outcome.err;
}

TEST_F(Nesting, AWriterMayReadInside) {
  EXPECT_EQ(
      holdfast(Words{"run", "x", "--"} + run({"--shared", "x"}) + run({"x"}) + Words{"true"}).code,
      0);
}

TEST_F(Nesting, AnotherStoreIsRefused) {
  for (const auto& name : {"x", "y"}) {
    const auto outcome =
        holdfast(Words{"run", "x", "--"} + run({"--store", "sqlite:" + path("other.db"), name}) +
                 Words{"true"});
    EXPECT_EQ(outcome.code, 78);
    EXPECT_NE(outcome.err.find("HOLDFAST_HELD"), std::string::npos) << outcome.err;
  }
  EXPECT_FALSE(std::filesystem::exists(path("other.db")));
}

TEST_F(Nesting, ARelativeStoreIsTheSameFileInAnotherFolder) {
  const auto inner = "cd / && " + binary + " run --no-wait y -- true";
  EXPECT_EQ(holdfast({"run", "--store", "sqlite:a.db", "x", "--", "sh", "-c", inner}).code, 0);

  auto inherited = plan({"run", "x", "--", "sh", "-c", inner});
  inherited.environment["HOLDFAST_STORE"] =
      "sqlite:a.db";  // passed on unchanged: it names another file there
  EXPECT_EQ(Running(inherited).wait().code, 78);
}

TEST_F(Nesting, ALostOuterLeaseIsNotEntered) {
  const auto script = "echo $$ >" + path("pid") + "; while ! test -e " + path("broken") +
                      "; do sleep 0.01; done; " + binary + " run --no-wait x -- touch " +
                      path("ran") + "; exit $?";
  auto outer = start({"run", "--on-lost", "warn", "x", "--", "sh", "-c", script});
  pid_in("pid");
  EXPECT_EQ(holdfast({"break", "--force", "x"}).code, 0);
  write("broken", "");
  EXPECT_EQ(outer->wait().code, 76);
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

TEST_F(Nesting, AVariableThatWasTamperedWithIsRefused) {
  for (const auto& text : {"nonsense", "a b", "a b=c=d", "% x=1=exclusive", "a =1=exclusive"}) {
    auto tampered = plan({"run", "x", "--", "true"});
    tampered.environment["HOLDFAST_HELD"] = text;
    EXPECT_EQ(Running(tampered).wait().code, 78) << text;
  }
}

class Secret : public Cli {};

// No server listens there, because the test only looks at what others can see of the URL.
const std::string secret = "redis://user:pa55word@127.0.0.1:1/";

TEST_F(Secret, IsNeitherPrintedNorLeftInTheArguments) {
  const auto outcome = holdfast({"run", "--no-wait", "--store", secret, "x", "--", "true"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_EQ(outcome.err.find("pa55word"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("HOLDFAST_STORE"), std::string::npos) << "no warning: " << outcome.err;
}

TEST_F(Secret, OfAMalformedUrlIsNotPrintedEither) {
  for (const auto& url :
       {"nope://user:pa55word@h", "redis://user:pa55word@h:99999", "redis://user:pa55word@[::1"}) {
    const auto outcome = holdfast({"ls", "--store", url});
    EXPECT_EQ(outcome.code, 78);
    EXPECT_EQ(outcome.err.find("pa55word"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace holdfast::cli_test
