// Goal: a signal to `holdfast run` reaches its whole command; during a wait it ends the wait at
// once and leaves nothing in line (P05 to P07).
#include "cli.hpp"

#include <csignal>

namespace holdfast::cli_test {
namespace {

class Signal : public Cli, public testing::WithParamInterface<int> {};

TEST_P(Signal, EndsTheCommandAndFreesTheLock) {
  auto run = start(Words{"run", "x", "--"} + witnessed());
  run->line();
  const auto command = pid_in("pid");
  run->signal(GetParam());
  EXPECT_EQ(run->line(), "released");
  EXPECT_EQ(run->wait().code, 128 + GetParam());
  EXPECT_FALSE(alive(command));
  EXPECT_EQ(holdfast(Words{"run", "--no-wait", "x", "--"} + alone()).code, 0);
}

TEST_P(Signal, EndsTheWaitAndLeavesTheLine) {
  auto holder = start(Words{"run", "x", "--"} + witnessed());
  holder->line();
  auto waiter = start({"run", "x", "--", "touch", path("ran")});
  EXPECT_EQ(waiter->line(), "waiting");
  EXPECT_TRUE(eventually([&] { return holdfast({"ls"}).out.find("waits") != std::string::npos; }));
  const auto guard = waiter->guard();
  waiter->signal(GetParam());
  EXPECT_EQ(waiter->wait().code, 128 + GetParam());
  // `run` does not wait for a guard that is slow to leave.
  EXPECT_TRUE(eventually([&] { return !alive(guard); }));
  EXPECT_EQ(holdfast({"ls"}).out.find("waits"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

INSTANTIATE_TEST_SUITE_P(All, Signal, testing::Values(SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1),
                         [](const auto& one) { return std::to_string(one.param); });

class Signals : public Cli {};

TEST_F(Signals, ReachTheWholeGroup) {
  const auto script = "sleep 1000 & echo $! >" + path("child") + "; wait";
  auto run = start(Words{"run", "x", "--"} + witnessed(script));
  const auto grandchild = pid_in("child");
  run->signal(SIGTERM);
  EXPECT_EQ(run->wait().code, 128 + SIGTERM);
  EXPECT_TRUE(eventually([&] { return !alive(grandchild); }));
}

TEST_F(Signals, MayBeHandledByTheCommand) {
  const auto script =
      "trap 'echo handled; exit 3' TERM; echo up >" + path("up") + "; while :; do sleep 0.01; done";
  auto run = start({"run", "x", "--", "sh", "-c", script});
  EXPECT_TRUE(eventually([&] { return read("up") == "up\n"; }));
  run->signal(SIGTERM);
  const auto outcome = run->wait();
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "handled\n");
}

TEST_F(Signals, EndAWaitEvenIfTheStoreHangs) {
  auto holder = start(Words{"run", "x", "--"} + witnessed());
  holder->line();
  auto waiter = start({"run", "x", "--", "true"});
  EXPECT_EQ(waiter->line(), "waiting");
  const auto guard = waiter->guard();
  ::kill(guard, SIGSTOP);  // from outside the same as a store that does not answer
  ASSERT_TRUE(eventually([&] { return state_of(guard) == "T"; }));
  waiter->signal(SIGTERM);
  EXPECT_EQ(waiter->wait().code, 128 + SIGTERM);
  ::kill(guard, SIGCONT);
  EXPECT_TRUE(eventually([&] { return holdfast({"ls"}).out.find("waits") == std::string::npos; }));
}

TEST_F(Signals, ThatWereIgnoredStayIgnored) {
  auto nohup = plan(Words{"run", "x", "--"} +
                    witnessed("while ! test -e " + path("end") + "; do sleep 0.01; done"));
  nohup.before_exec = [] { ::signal(SIGHUP, SIG_IGN); };
  Running run(nohup);
  pid_in("pid");
  run.signal(SIGHUP);
  write("end", "");
  EXPECT_EQ(run.wait().code, 0);
}

TEST_F(Signals, AreNotBlockedInTheCommand) {
  const auto outcome = holdfast({"run", "x", "--", "grep", "SigBlk", "/proc/self/status"});
  EXPECT_EQ(outcome.out, "SigBlk:\t0000000000000000\n");
}

}  // namespace
}  // namespace holdfast::cli_test
