// Goal: the command does not outlive its lease, whoever is killed or paused (P02 to P04, P08).
// Method: the command holds a flock for as long as it lives, and the next holder's command fails if
// it finds that flock taken. So the kernel, which knows nothing of holdfast, is the judge.
#include "cli.hpp"

#include <csignal>
#include <fstream>
#include <stdexcept>

namespace holdfast::cli_test {
namespace {

class Guard : public Cli {
 protected:
  // Starts a holder and, behind it in line, one that fails if the holder's command still lives.
  // Throws if it cannot, for then there is nothing to test.
  void begin(const Words& flags = {}, const std::string& then = "exec sleep 1000") {
    first_ = start(Words{"run", "--ttl", "2s"} + flags + Words{"x", "--"} + witnessed(then));
    if (!first_->line().starts_with("acquired")) throw std::runtime_error("no first holder");
    command_ = pid_in("pid");
    next_ = start(Words{"run", "--ttl", "2s", "x", "--"} + alone());
    if (next_->line() != "waiting") throw std::runtime_error("the next does not wait");
  }
  void next_is_alone() {
    EXPECT_TRUE(next_->line_after("waiting").starts_with("acquired"));
    EXPECT_EQ(next_->wait().code, 0) << "the first command was still alive";
    EXPECT_FALSE(alive(command_));
  }
  void stop(pid_t process) {
    ::kill(process, SIGSTOP);
    ASSERT_TRUE(eventually([&] { return state_of(process) == "T"; }));
  }

  std::unique_ptr<Running> first_;
  std::unique_ptr<Running> next_;
  pid_t command_ = -1;
};

TEST_F(Guard, HasAnotherNameThanTheCommandThatKillsByName) {
  begin();
  std::ifstream name("/proc/" + std::to_string(first_->guard()) + "/comm");
  std::ifstream line("/proc/" + std::to_string(first_->guard()) + "/cmdline");
  std::string text;
  std::getline(name, text);
  EXPECT_EQ(text, "hf-guard");
  std::getline(line, text);
  EXPECT_EQ(text.find("holdfast"), std::string::npos) << text;
}

TEST_F(Guard, StopsTheCommandWhenTheSupervisorIsKilled) {
  begin();
  first_->signal(SIGKILL);
  next_is_alone();
  EXPECT_EQ(first_->line(), "released");
}

TEST_F(Guard, StopsAlsoACommandThatIgnoresTheFirstSignal) {
  begin({}, "trap '' TERM; while :; do sleep 0.01; done");
  first_->signal(SIGKILL);
  next_is_alone();
}

TEST_F(Guard, WaitsForTheWholeGroup) {
  begin({}, "(trap '' TERM; echo $(exec sh -c 'echo $PPID') >" + path("child") +
                "; while :; do sleep 0.01; done) & wait");
  const auto grandchild = pid_in("child");
  first_->signal(SIGKILL);
  next_is_alone();
  EXPECT_FALSE(alive(grandchild));
}

TEST_F(Guard, StopsTheCommandWhenTheSupervisorIsPaused) {
  begin();
  stop(first_->pid());
  next_is_alone();
  EXPECT_FALSE(first_->over());
  first_->signal(SIGCONT);
  EXPECT_EQ(first_->line(), "lost");
  EXPECT_EQ(first_->wait().code, 76);
}

TEST_F(Guard, PausedWithEverythingElseKillsBeforeAnythingElse) {
  begin();
  const auto guard = first_->guard();
  for (const pid_t process : {first_->pid(), guard, command_}) stop(process);
  // The next enters while the command stands still; it does so with a flock of its own in its
  // hands.
  EXPECT_TRUE(next_->line_after("waiting").starts_with("acquired"));
  next_->wait();
  for (const pid_t process : {first_->pid(), guard}) ::kill(process, SIGCONT);
  EXPECT_EQ(first_->wait().code, 76);
  EXPECT_EQ(first_->line(), "lost");
  EXPECT_FALSE(alive(command_));
}

TEST_F(Guard, IsReplacedByTheSupervisorWhenItIsKilled) {
  begin();
  ::kill(first_->guard(), SIGKILL);
  next_is_alone();
  EXPECT_EQ(first_->wait().code, 76);
  EXPECT_EQ(first_->line(), "lost");
}

TEST_F(Guard, IsReplacedByTheSupervisorWhenItIsPaused) {
  begin();
  stop(first_->guard());
  next_is_alone();
  EXPECT_EQ(first_->wait().code, 76);
  EXPECT_EQ(first_->line(), "lost");
}

TEST_F(Guard, KilledTogetherWithTheSupervisorTakesTheCommandAlong) {
  begin();
  const auto guard = first_->guard();
  ::kill(guard, SIGKILL);
  first_->signal(SIGKILL);
  next_is_alone();
}

TEST_F(Guard, KilledBeforeTheLockIsGrantedIsAnInternalError) {
  begin();
  ::kill(next_->guard(), SIGKILL);
  EXPECT_EQ(next_->wait().code, 70);
}

TEST_F(Guard, LeavesTheLineWhenTheSupervisorOfAWaiterIsKilled) {
  begin();
  next_->signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return holdfast({"ls"}).out.find("waits") == std::string::npos; }));
  EXPECT_TRUE(alive(command_));
}

TEST_F(Guard, KeepsTheLeaseOfACommandThatRunsForLongerThanTheTtl) {
  auto run = start({"run", "--ttl", "3s", "x", "--", "sleep", "7"});
  run->line();
  EXPECT_EQ(run->line(), "released");
  EXPECT_EQ(run->wait().code, 0);
}

class Tree : public Guard {
 protected:
  // A daemon that left its group and session, with its parent gone.
  std::string daemon() const {
    return "setsid sh -c 'echo $$ >" + path("daemon.new") + "; mv " + path("daemon.new") + " " +
           path("daemon") + "; exec sleep 1000' 8>&- & while ! test -e " + path("daemon") +
           "; do sleep 0.01; done; exec sleep 1000";
  }
};

TEST_F(Tree, IsLeftAloneByDefault) {
  begin({}, daemon());
  const auto daemon = pid_in("daemon");
  first_->signal(SIGKILL);
  next_is_alone();
  EXPECT_TRUE(alive(daemon));
  ::kill(daemon, SIGKILL);
}

TEST_F(Tree, IsKilledWhenAskedFor) {
  begin({"--kill-tree"}, daemon());
  const auto daemon = pid_in("daemon");
  first_->signal(SIGKILL);
  next_is_alone();
  EXPECT_FALSE(alive(daemon));
}

TEST_F(Tree, EndsWithTheCommandToo) {
  const auto script = "setsid sleep 1000 & echo $! >" + path("daemon");
  EXPECT_EQ(holdfast({"run", "--kill-tree", "x", "--", "sh", "-c", script}).code, 0);
  EXPECT_FALSE(alive(pid_in("daemon")));
}

// Where namespaces are not allowed, the refusal is what is tested.
TEST_F(Tree, InANamespaceDiesWithTheGuard) {
  const auto allowed = holdfast({"run", "--kill-tree=pidns", "probe", "--", "sh", "-c", "exit 7"});
  if (allowed.code == 78) {
    EXPECT_NE(allowed.err.find("--kill-tree"), std::string::npos);
    return;
  }
  EXPECT_EQ(allowed.code, 7) << allowed.err;
  first_ = start(Words{"run", "--ttl", "2s", "--kill-tree=pidns", "x", "--"} +
                 witnessed("setsid sleep 1000 8>&- & exec sleep 1000"));
  ASSERT_TRUE(first_->line().starts_with("acquired"));
  pid_in("pid");
  const auto guard = first_->guard();
  const auto init = children_of(guard).at(0);
  const auto command = children_of(init).at(0);
  ASSERT_TRUE(eventually([&] { return children_of(command).size() == 1; }));
  const auto daemon = children_of(command).at(0);
  ::kill(guard, SIGKILL);
  first_->signal(SIGKILL);
  for (const pid_t process : {init, command, daemon})
    EXPECT_TRUE(eventually([&] { return !alive(process); }));
}

class Lost : public Guard {};

TEST_F(Lost, ByBreakStopsTheCommandBeforeTheNextIsIn) {
  begin();
  EXPECT_EQ(holdfast({"break", "x"}).code, 0);
  EXPECT_EQ(first_->line(), "lost");
  next_is_alone();
  const auto outcome = first_->wait();
  EXPECT_EQ(outcome.code, 76);
  EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
}

TEST_F(Lost, ByBreakLetsTheCommandClearUp) {
  begin({},
        "trap 'echo cleared >" + path("cleared") + "; exit 0' TERM; while :; do sleep 0.01; done");
  EXPECT_EQ(holdfast({"break", "x"}).code, 0);
  next_is_alone();
  EXPECT_EQ(first_->wait().code, 76);
  EXPECT_EQ(read("cleared"), "cleared\n");
}

TEST_F(Lost, ByForceStopsTheCommandToo) {
  begin();
  EXPECT_EQ(holdfast({"break", "--force", "x"}).code, 0);
  EXPECT_TRUE(next_->line_after("waiting").starts_with("acquired"));
  EXPECT_EQ(first_->wait().code, 76);
  EXPECT_EQ(first_->line(), "lost");
  EXPECT_FALSE(alive(command_));
}

TEST_F(Lost, OnlyWarnsWhenToldSo) {
  begin({"--on-lost", "warn"}, "while ! test -e " + path("end") + "; do sleep 0.01; done; exit 4");
  EXPECT_EQ(holdfast({"break", "--force", "x"}).code, 0);
  EXPECT_EQ(first_->line(), "lost");
  EXPECT_TRUE(alive(command_));
  write("end", "");
  const auto outcome = first_->wait();
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
}

TEST_F(Lost, ByADeletedStoreStopsTheCommand) {
  begin();
  std::filesystem::remove(path("locks.db"));
  EXPECT_EQ(first_->line(), "lost");
  EXPECT_EQ(first_->wait().code, 76);
  EXPECT_FALSE(alive(command_));
}

}  // namespace
}  // namespace holdfast::cli_test
