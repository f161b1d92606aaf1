// Goal: the command does not outlive its lease, whichever process is killed or paused (P02 to P04,
// P08). Method: the command holds a flock as long as it lives, and the next holder's command fails
// if it finds the flock taken. So the kernel, which knows nothing of holdfast, is the judge. Tests
// do not wait, but move the processes' clock ahead.
#include "cli.hpp"

#include <csignal>
#include <fstream>
#include <stdexcept>

#include "holdfast/backend.hpp"
#include "support/skewed_clock.hpp"
#include "support/sqlite_client.hpp"

namespace holdfast::cli_test {
namespace {

using namespace std::chrono_literals;

// Of a lease of 30 s:
constexpr auto renewal_is_due = 11s;
constexpr auto half = 15s;
constexpr auto grace_is_over = 6s;            // between the two signals
constexpr Millis inside_the_margin = 2800ms;  // no holder may act, but the store still has it
constexpr auto past_ttl = 31s;

class Guard : public Cli {
 protected:
  void SetUp() override {
    for (const auto& one : clock_.environment()) {
      const auto name_end = one.find('=');
      environment_[one.substr(0, name_end)] = one.substr(name_end + 1);
    }
  }
  // Starts a holder and, behind it in line, a command that fails if the holder's command is still
  // alive. The second has a long lease, because a jump must not end it. Throws if one does not
  // start, because then there is nothing to test.
  void begin(const Words& flags = {}, const std::string& then = "exec sleep 1000",
             const std::string& ready = ":") {
    first_ = start(Words{"run"} + flags + Words{"x", "--"} + witnessed(then, ready));
    if (!first_->line().starts_with("acquired")) throw std::runtime_error("no first holder");
    command_ = pid_in("pid");
    next_ = start(Words{"run", "--ttl", "10m", "x", "--"} + alone());
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

  // When the first lease ends, according to the store.
  std::int64_t expiry() const {
    return support::SqliteClient(path("locks.db"))
        .number("SELECT expires_us FROM claims WHERE name = CAST(? AS BLOB) AND standing = 1", "x");
  }

  // Makes it end there after `left`. Call it before any other jump.
  void jump_before_expiry(Millis left) {
    const auto now = BootClock::now().time_since_epoch();
    const auto away = std::chrono::microseconds(expiry()) - now;
    clock_.jump(std::chrono::duration_cast<Millis>(away) - left);
  }

  support::SkewedClock clock_;
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
  begin({}, "while :; do sleep 0.01; done", "trap 'echo >" + path("ignored") + "' TERM");
  first_->signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(path("ignored")); }));
  EXPECT_TRUE(alive(command_));
  clock_.jump(grace_is_over);
  next_is_alone();
}

TEST_F(Guard, WaitsForTheWholeGroup) {
  begin({}, "(trap '' TERM; echo $(exec sh -c 'echo $PPID') >" + path("child") +
                "; exec sleep 1000) & wait");
  const auto grandchild = pid_in("child");
  first_->signal(SIGKILL);
  // Once nothing of the command is left, the guard knows that it has ended.
  EXPECT_TRUE(eventually([&] { return state_of(command_).empty(); }));
  EXPECT_TRUE(alive(grandchild));
  clock_.jump(grace_is_over);
  next_is_alone();
  EXPECT_FALSE(alive(grandchild));
}

TEST_F(Guard, StopsTheCommandWhenTheSupervisorIsPaused) {
  begin();
  stop(first_->pid());
  // The guard still renews, so the lease does not end first.
  const auto before = expiry();
  clock_.jump(half);
  ASSERT_TRUE(eventually([&] { return expiry() > before; }));
  clock_.jump(half);
  next_is_alone();
  EXPECT_FALSE(first_->over());
  first_->signal(SIGCONT);
  EXPECT_EQ(first_->line(), "lost");
  const auto outcome = first_->wait();
  EXPECT_EQ(outcome.code, 76);
  EXPECT_NE(outcome.err.find("stopped for longer than the ttl allows"), std::string::npos)
      << outcome.err;
}

TEST_F(Guard, PausedWithEverythingElseKillsBeforeAnythingElse) {
  begin();
  const auto guard = first_->guard();
  for (const pid_t process : {first_->pid(), guard, command_}) stop(process);
  clock_.jump(past_ttl);
  // The command is stopped and still has its flock, so the next holder's command fails: its status
  // is not checked.
  EXPECT_TRUE(next_->line_after("waiting").starts_with("acquired"));
  next_->wait();
  for (const pid_t process : {first_->pid(), guard}) ::kill(process, SIGCONT);
  EXPECT_EQ(first_->wait().code, 76);
  EXPECT_EQ(first_->line(), "lost");
  EXPECT_FALSE(alive(command_));
}

// T09: the whole machine slept and the lease has ended, so the command may not even clean up.
TEST_F(Guard, AfterASuspendKillsTheCommandAtOnce) {
  first_ = start(Words{"run", "x", "--"} + witnessed("while :; do sleep 0.01; done",
                                                     "trap 'echo >" + path("cleared") + "' TERM"));
  ASSERT_TRUE(first_->line().starts_with("acquired"));
  command_ = pid_in("pid");
  clock_.jump(past_ttl);
  EXPECT_EQ(first_->line(), "lost");
  EXPECT_EQ(first_->wait().code, 76);
  EXPECT_FALSE(alive(command_));
  EXPECT_FALSE(std::filesystem::exists(path("cleared")));
  EXPECT_EQ(holdfast(Words{"run", "--no-wait", "x", "--"} + alone()).code, 0);
}

TEST_F(Guard, IsReplacedByTheSupervisorWhenItIsKilled) {
  begin();
  ::kill(first_->guard(), SIGKILL);
  next_is_alone();
  EXPECT_EQ(first_->wait().code, 76);
  EXPECT_EQ(first_->line(), "lost");
}

// Takes half of the margin of 3 s: that long a paused guard may come back.
TEST_F(Guard, IsReplacedByTheSupervisorWhenItIsPaused) {
  begin();
  stop(first_->guard());
  jump_before_expiry(inside_the_margin);
  next_is_alone();
  EXPECT_EQ(first_->wait().code, 76);
  EXPECT_EQ(first_->line(), "lost");
}

// The supervisor knows the lease as soon as it is told, not only when the command runs.
TEST_F(Guard, IsReplacedByTheSupervisorWhenItIsPausedBeforeTheCommandRuns) {
  first_ = start({"run", "x", "--", "sleep", "1000"});
  ASSERT_TRUE(first_->line().starts_with("acquired"));
  next_ = start({"run", "x", "--", "sleep", "1000"});
  ASSERT_EQ(next_->line(), "waiting");
  const auto guard = next_->guard();
  first_->signal(SIGTERM);
  ASSERT_TRUE(next_->line_after("waiting").starts_with("acquired"));
  stop(guard);
  clock_.jump(past_ttl);
  EXPECT_EQ(next_->wait().code, 76);
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

// By the real clock.
class GuardClock : public Guard {
 protected:
  void SetUp() override {}
};

TEST_F(GuardClock, KeepsTheLeaseOfACommandThatRunsForLongerThanTheTtl) {
  begin({"--ttl", "8s"}, "exec sleep 10");
  next_is_alone();
  EXPECT_EQ(first_->line(), "released");
  EXPECT_EQ(first_->wait().code, 0);
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
  // While the command lives, the daemon is its child and may miss the first signal.
  EXPECT_TRUE(eventually([&] { return !alive(command_); }));
  clock_.jump(grace_is_over);
  next_is_alone();
  EXPECT_FALSE(alive(daemon));
}

TEST_F(Tree, EndsWithTheCommandToo) {
  const auto script = "setsid sleep 1000 & echo $! >" + path("daemon");
  EXPECT_EQ(holdfast({"run", "--kill-tree", "x", "--", "sh", "-c", script}).code, 0);
  EXPECT_FALSE(alive(pid_in("daemon")));
}

// Where namespaces are not allowed, this tests the refusal.
TEST_F(Tree, InANamespaceDiesWithTheGuard) {
  const auto allowed = holdfast({"run", "--kill-tree=pidns", "probe", "--", "sh", "-c", "exit 7"});
  if (allowed.code == 78) {
    EXPECT_NE(allowed.err.find("--kill-tree"), std::string::npos);
    return;
  }
  EXPECT_EQ(allowed.code, 7) << allowed.err;
  first_ = start(Words{"run", "--kill-tree=pidns", "x", "--"} +
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
  begin({}, "while :; do sleep 0.01; done",
        "trap 'echo cleared >" + path("cleared") + "; exit 0' TERM");
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
  clock_.jump(renewal_is_due);
  EXPECT_EQ(first_->line(), "lost");
  EXPECT_EQ(first_->wait().code, 76);
  EXPECT_FALSE(alive(command_));
}

}  // namespace
}  // namespace holdfast::cli_test
