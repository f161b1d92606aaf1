// Goal: `holdfast run` gives the command everything that a shell would, and passes on what the
// command returns; the lock is held exactly while it runs.
#include "cli.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "support/skewed_clock.hpp"

namespace holdfast::cli_test {
namespace {

class Run : public Cli {};

TEST_F(Run, ExitStatusIsTheCommands) {
  for (const int code : {0, 1, 7, 64, 75, 125, 255})
    EXPECT_EQ(holdfast({"run", "x", "--", "sh", "-c", "exit " + std::to_string(code)}).code, code);
}

TEST_F(Run, ACommandEndedByASignalGives128AndItsNumber) {
  EXPECT_EQ(holdfast({"run", "x", "--", "sh", "-c", "kill -9 $$"}).code, 128 + SIGKILL);
  EXPECT_EQ(holdfast({"run", "x", "--", "sh", "-c", "kill -TERM $$"}).code, 128 + SIGTERM);
}

TEST_F(Run, OptionsMayStandAnywhereBeforeTheSeparator) {
  const Words flags = {"--store", store(), "--ttl", "45s"};
  const Words then = {"--", "printf", "%s.", "--ttl", "--", "-x"};
  for (const auto& order :
       {flags + Words{"run", "x"}, Words{"run"} + flags + Words{"x"}, Words{"run", "x"} + flags}) {
    const auto outcome = holdfast(order + then);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "--ttl.--.-x.");
  }
}

TEST_F(Run, ArgumentsArePassedOnByteForByte) {
  const std::string bytes = "a\xff\x01 \n\t'\"\\$(x)*%s%n\xf0\x9f\x94\x92";
  EXPECT_EQ(holdfast({"run", "x", "--", "printf", "%s", bytes}).out, bytes);
  EXPECT_EQ(holdfast({"run", "x", "--", "printf", "%s", ""}).out, "");

  Words many = {"run", "x", "--", "sh", "-c", "echo $#", "sh"};
  many.resize(many.size() + 100'000, "argument");
  EXPECT_EQ(holdfast(many).out, "100000\n");
}

TEST_F(Run, StandardInputReachesTheCommand) {
  write("input", "one\ntwo\n");
  auto fed = plan({"run", "x", "--", "cat"});
  fed.before_exec = [file = path("input")] {
    ::dup2(::open(file.c_str(), O_RDONLY), STDIN_FILENO);
  };
  EXPECT_EQ(Running(fed).wait().out, "one\ntwo\n");
}

TEST_F(Run, ClosedStandardDescriptorsStayClosedForTheCommandAndHarmNothing) {
  const auto script =
      "for fd in 0 1 2; do test -e /proc/$$/fd/$fd && echo $fd; done >" + path("open") + "; exit 0";
  auto closed = plan({"run", "x", "--", "sh", "-c", script});
  closed.before_exec = [] {
    ::close(STDIN_FILENO);
    ::close(STDERR_FILENO);
  };
  EXPECT_EQ(Running(closed).wait().code, 0);
  EXPECT_EQ(read("open"), "1\n");
  EXPECT_EQ(holdfast({"ls"}).code, 0);
}

TEST_F(Run, NothingOfOursIsOpenInTheCommand) {
  auto run = start({"run", "--kill-tree", "x", "--", "ls", "-l", "/proc/self/fd"});
  const auto open = run->wait().out;
  for (const auto& kind : {"socket:", "anon_inode:", "locks.db", " 9 ->"})
    EXPECT_EQ(open.find(kind), std::string::npos) << open;
}

TEST_F(Run, NothingIsOpenInTheCommandThatALibraryLeftOpen) {
  const support::SkewedClock clock;
  for (const auto& one : clock.environment())
    environment_[one.substr(0, one.find('='))] = one.substr(one.find('=') + 1);
  environment_["HOLDFAST_TEST_LEAK"] = "yes";
  for (const Words& flags : {Words{}, Words{"--kill-tree"}, Words{"--kill-tree=pidns"}}) {
    auto all_closed = plan(Words{"run"} + flags + Words{"x", "--", "ls", "/proc/self/fd"});
    all_closed.before_exec = [] { ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); };
    const auto outcome = Running(all_closed).wait();
    if (outcome.code == 78) continue;  // Namespaces are not allowed here.
    EXPECT_EQ(outcome.out, "0\n1\n2\n3\n") << outcome.err;
  }
}

TEST_F(Run, AReaderThatWentAwayKillsNobodyButTheWriter) {
  auto deaf = plan(
      {"run", "--on-lost", "warn", "x", "--", "sh", "-c", "echo to nobody 2>/dev/null; exit 5"});
  deaf.before_exec = [] {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(98);
    ::signal(SIGPIPE, SIG_IGN);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
  };
  EXPECT_EQ(Running(deaf).wait().code, 5);
}

TEST_F(Run, TheEnvironmentTellsNameTokenAndStore) {
  const auto outcome = holdfast({"run", "orders/42", "--", "sh", "-c",
                                 "echo \"$HOLDFAST_NAME $HOLDFAST_STORE $HOLDFAST_TOKEN\""});
  EXPECT_TRUE(outcome.out.starts_with("orders/42 " + store() + " ")) << outcome.out;
  const auto token = std::stoull(outcome.out.substr(outcome.out.rfind(' ')));
  const auto next = holdfast({"run", "orders/42", "--", "sh", "-c", "echo $HOLDFAST_TOKEN"});
  EXPECT_GT(std::stoull(next.out), token);
}

TEST_F(Run, StatusLinesTellEveryChange) {
  ::mkfifo(path("gate").c_str(), 0600);
  auto first = start({"run", "--ttl", "45s", "x", "--", "sh", "-c", "read line <" + path("gate")});
  const auto acquired = first->line();
  EXPECT_TRUE(acquired.starts_with("acquired token=")) << acquired;
  EXPECT_TRUE(acquired.ends_with(" ttl=45000ms")) << acquired;

  auto busy = start({"run", "--no-wait", "x", "--", "true"});
  EXPECT_EQ(busy->line(), "busy");
  EXPECT_EQ(busy->wait().code, 75);

  auto second = start({"run", "x", "--", "true"});
  EXPECT_EQ(second->line(), "waiting");
  write("gate", "go\n");
  EXPECT_EQ(first->line(), "released");
  EXPECT_EQ(first->line(), "");
  EXPECT_TRUE(second->line().starts_with("acquired token="));
  EXPECT_EQ(second->line(), "released");
  EXPECT_EQ(first->wait().code, 0);
  EXPECT_EQ(second->wait().code, 0);
}

TEST_F(Run, ABusyLockIsToldWithItsHolder) {
  auto holder = start(Words{"run", "x", "--"} + witnessed());
  holder->line();
  for (const auto& once : {Words{"--no-wait"}, Words{"--wait", "0s"}, Words{"--wait", "200ms"}}) {
    const auto outcome = holdfast(Words{"run"} + once + Words{"x", "--", "touch", path("ran")});
    EXPECT_EQ(outcome.code, 75);
    EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find('x'), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

TEST_F(Run, TheLockIsFreeWhenTheCommandHasEnded) {
  for (int round = 0; round < 5; ++round)
    EXPECT_EQ(holdfast({"run", "--no-wait", "x", "--", "true"}).code, 0);
  EXPECT_EQ(holdfast({"ls", "--json"}).out, "[]\n");
}

TEST_F(Run, ManyContendersEnterOneByOne) {
  constexpr int contenders = 24;
  write("count", "0\n");
  const auto visit = "flock -n " + path("oracle") + " true || exit 1; exec 8>" + path("oracle") +
                     "; flock -n 8 || exit 1; read n <" + path("count") + "; echo $((n + 1)) >" +
                     path("count");
  std::vector<std::unique_ptr<Running>> all;
  for (int i = 0; i < contenders; ++i) all.push_back(start({"run", "x", "--", "sh", "-c", visit}));
  for (const auto& one : all) {
    const auto outcome = one->wait();
    EXPECT_EQ(outcome.code, 0) << "two were inside at once, or: " << outcome.err;
  }
  EXPECT_EQ(read("count"), std::to_string(contenders) + "\n");
}

TEST_F(Run, AScriptWithoutItsFirstLineRunsInTheShell) {
  write("script", "echo \"$1 from the shell\"\n");
  ::chmod(path("script").c_str(), 0700);
  EXPECT_EQ(holdfast({"run", "x", "--", path("script"), "hello"}).out, "hello from the shell\n");
}

TEST_F(Run, PermitsLetSoManyInAndNoMore) {
  const auto script = "echo $$ >" + path("pid") + "; exec sleep 1000";
  auto first = start(Words{"run", "--permits", "1/2", "x", "--", "sh", "-c", script});
  auto second = start(Words{"run", "--permits=1/2", "x", "--", "sleep", "1000"});
  EXPECT_TRUE(first->line().starts_with("acquired"));
  EXPECT_TRUE(second->line().starts_with("acquired"));
  EXPECT_EQ(holdfast({"run", "--no-wait", "--permits", "1/2", "x", "--", "true"}).code, 75);
  pid_in("pid");
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait().code, 128 + SIGTERM);
  EXPECT_EQ(holdfast({"run", "--no-wait", "--permits", "1/2", "x", "--", "true"}).code, 0);
}

TEST_F(Run, SharedHoldersAreInTogether) {
  auto first = start({"run", "--shared", "x", "--", "sleep", "1000"});
  EXPECT_TRUE(first->line().starts_with("acquired"));
  EXPECT_EQ(holdfast({"run", "--shared", "--no-wait", "x", "--", "true"}).code, 0);
}

TEST_F(Run, AnExclusiveRunAndASharedOneKeepEachOtherOut) {
  {
    auto reader = start({"run", "--shared", "x", "--", "sleep", "1000"});
    EXPECT_TRUE(reader->line().starts_with("acquired"));
    EXPECT_EQ(holdfast({"run", "--no-wait", "x", "--", "true"}).code, 75);
    reader->signal(SIGTERM);
    reader->wait();
  }
  auto writer = start({"run", "x", "--", "sleep", "1000"});
  EXPECT_TRUE(writer->line().starts_with("acquired"));
  EXPECT_EQ(holdfast({"run", "--shared", "--no-wait", "x", "--", "true"}).code, 75);
}

class Where : public Cli {};

TEST_F(Where, EveryWayToWriteAFileIsTheSameStore) {
  auto holder = start({"run", "--store", "sqlite:" + path("a.db"), "x", "--", "sleep", "1000"});
  ASSERT_TRUE(holder->line().starts_with("acquired"));
  for (const auto& url : {"sqlite:a.db", "sqlite:./a.db"})
    EXPECT_EQ(holdfast({"run", "--no-wait", "--store", url, "x", "--", "true"}).code, 75) << url;
  EXPECT_EQ(
      holdfast({"run", "--no-wait", "--store", "sqlite://" + path("a.db"), "x", "--", "true"}).code,
      75);
}

TEST_F(Where, WithoutAStoreItIsTheUsersStateFolder) {
  auto by_state = plan({"run", "x", "--", "true"});
  by_state.environment = {{"HOLDFAST_STORE", {}}, {"XDG_STATE_HOME", path("state")}};
  EXPECT_EQ(Running(by_state).wait().code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("state/holdfast/locks.db")));

  auto by_home = plan({"run", "x", "--", "true"});
  by_home.environment = {{"HOLDFAST_STORE", {}}, {"XDG_STATE_HOME", {}}, {"HOME", path("home")}};
  EXPECT_EQ(Running(by_home).wait().code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("home/.local/state/holdfast/locks.db")));
}

TEST_F(Where, AFileThatCannotBeCreatedIsToldApart) {
  const auto outcome = holdfast({"run", "--store", "sqlite:/proc/no/locks.db", "x", "--", "true"});
  EXPECT_EQ(outcome.code, 73) << outcome.err;
  EXPECT_EQ(lines_in(outcome.err), 1U);
}

TEST_F(Where, AFileThatIsNoDatabaseIsLeftAlone) {
  write("text.db", std::string(8192, 'x'));
  std::filesystem::permissions(path("text.db"), std::filesystem::perms(0600));
  EXPECT_EQ(holdfast({"run", "--store", "sqlite:text.db", "x", "--", "true"}).code, 78);
  EXPECT_EQ(read("text.db"), std::string(8192, 'x'));
}

}  // namespace
}  // namespace holdfast::cli_test
