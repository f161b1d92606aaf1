// Goal: on every store the command locks as the README says: it ends as its command does, hands
// on in order, ends with 76 when the store ends its lease, and after every kind of death a try gets
// the lock. The command has the descriptors that the caller of holdfast had open, and no others.
// Method: real servers, which end the leases; a process that must look at its clock has one that
// the test moves.
#include "cli.hpp"
#include "support/results.hpp"
#include "support/skewed_clock.hpp"
#include "support/world.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <csignal>

namespace holdfast::cli_test {
namespace {

using namespace std::chrono_literals;
using namespace support;

class CommandOnStores : public Cli, public testing::WithParamInterface<StoreCase> {
 protected:
  void SetUp() override {
    HOLDFAST_NEEDS(processes);
    for (const auto& one : clock_.environment()) {
      const auto name_end = one.find('=');
      environment_[one.substr(0, name_end)] = one.substr(name_end + 1);
    }
  }

  Running::Plan on_store(const Words& arguments) const {
    auto made = plan(arguments);
    made.environment["HOLDFAST_STORE"] = world.url();
    return made;
  }
  std::unique_ptr<Running> start_run(const Words& command) const {
    auto made = on_store(Words{"--status-fd", "9", "run", name, "--"} + command);
    made.status = true;
    return std::make_unique<Running>(made);
  }
  Outcome holdfast(const Words& arguments) const { return Running(on_store(arguments)).wait(); }
  int tried() const { return holdfast({"run", "--wait", "0s", name, "--", "true"}).code; }

  std::unique_ptr<Running> hold() {
    auto running = start_run(witnessed());
    EXPECT_TRUE(running->line_after("waiting").starts_with("acquired"));
    command_ = pid_in("pid");
    return running;
  }
  // Returns when it is in line, behind `others` waiters.
  std::unique_ptr<Running> get_in_line(const Words& command, long others = 0) {
    auto running = start_run(command);
    EXPECT_EQ(running->line(), "waiting");
    EXPECT_TRUE(eventually([&] { return waiting(observer_, name) == others + 1; }));
    return running;
  }
  static void kill_both(const Running& running) {
    const auto guard = running.guard();
    ::kill(guard, SIGKILL);
    running.signal(SIGKILL);
  }
  // A holder that gets no message notices when its renewal is due.
  void end_lease() {
    world.end_holder(name);
    if (world.traits().validity == Validity::claim) clock_.jump(past_renewal);
  }
  // A wait that ended in the middle of an ask leaves a mark for its ttl.
  testing::AssertionResult nothing_left() { return world.nothing_left_but("a mark", name); }

  // The descriptors that a command finds open, and one that "ls" opens itself. `then` may open more
  // than the standard ones.
  Outcome listed_open(
      const Words& before, const std::function<void()>& then = [] {}) const {
    auto made = on_store(
        before + Words{"sh", "-c", "ls /proc/self/fd; test ! -e /proc/self/fd/7 || echo kept >&7"});
    made.before_exec = [then] {
      ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
      then();
    };
    return Running(made).wait();
  }

  World world{GetParam()};
  const std::string name = "nightly";
  SkewedClock clock_;
  const Store observer_ = world.client();
  pid_t command_ = -1;
};
HOLDFAST_ON_EVERY_STORE(CommandOnStores);

TEST_P(CommandOnStores, EndsAsItsCommandDoesAndLeavesNothing) {
  for (const int code : {0, 7}) {
    const auto outcome = holdfast({"run", name, "--", "sh", "-c", "exit " + std::to_string(code)});
    EXPECT_EQ(outcome.code, code) << outcome.err;
  }
  EXPECT_TRUE(nothing_left());
}

TEST_P(CommandOnStores, IsToldThatTheLockIsBusy) {
  const auto holder = hold();
  EXPECT_EQ(tried(), 75);
  EXPECT_TRUE(alive(command_));
}

TEST_P(CommandOnStores, GetsTheLockInItsTurn) {
  HOLDFAST_NEEDS(queues);
  const auto holder = hold();
  std::vector<std::unique_ptr<Running>> waiters;
  for (int turn = 0; turn < 3; ++turn)
    waiters.push_back(get_in_line(
        {"sh", "-c",
         "flock -n " + path("oracle") + " echo " + std::to_string(turn) + " >>" + path("order")},
        turn));
  holder->signal(SIGTERM);
  EXPECT_EQ(holder->wait().code, 128 + SIGTERM);
  for (const auto& waiter : waiters) EXPECT_EQ(waiter->wait().code, 0);
  EXPECT_EQ(read("order"), "0\n1\n2\n");
  EXPECT_TRUE(nothing_left());
}

// A store may let it in for a short time only, until it has heard of it.
TEST_P(CommandOnStores, GetsAWholeLeaseInItsTurn) {
  HOLDFAST_NEEDS(queues);
  const auto holder = hold();
  auto made = on_store({"--status-fd", "9", "run", "--ttl", "10s", name, "--", "sleep", "1000"});
  made.status = true;
  Running waiter(made);
  EXPECT_EQ(waiter.line(), "waiting");
  ASSERT_TRUE(eventually([&] { return waiting(observer_, name) == 1; }));
  holder->signal(SIGTERM);
  EXPECT_EQ(holder->wait().code, 128 + SIGTERM);
  EXPECT_TRUE(waiter.line().starts_with("acquired"));
  EXPECT_TRUE(eventually([&] {
    const auto all = listed(observer_, name);
    return all.size() == 1 && all.front().ttl_left.value_or(10s) > 5s;
  }));
  waiter.signal(SIGTERM);
  EXPECT_EQ(waiter.wait().code, 128 + SIGTERM);
}

TEST_P(CommandOnStores, WhoseLeaseTheStoreEndedEndsWithItsCommand) {
  const auto holder = hold();
  end_lease();
  EXPECT_EQ(holder->line(), "lost");
  EXPECT_EQ(holder->wait().code, 76);
  EXPECT_FALSE(alive(command_));
  EXPECT_EQ(tried(), 0);
}

TEST_P(CommandOnStores, GetsTheLockAtItsFirstTryAfterABreak) {
  const auto holder = hold();
  EXPECT_EQ(holdfast({"break", name}).code, 0);
  if (world.traits().validity == Validity::claim) clock_.jump(past_renewal);
  EXPECT_EQ(holder->wait().code, 76);
  EXPECT_EQ(tried(), 0);
}

TEST_P(CommandOnStores, GetsTheLockAtItsFirstTryAfterABreakByForce) {
  const auto holder = hold();
  EXPECT_EQ(holdfast({"break", "--force", name}).code, 0);
  EXPECT_EQ(tried(), 0);
  if (world.traits().validity == Validity::claim) clock_.jump(past_renewal);
  EXPECT_EQ(holder->wait().code, 76);
}

TEST_P(CommandOnStores, GetsTheLockAtItsFirstTryAfterItsSupervisorWasKilled) {
  const auto holder = hold();
  holder->signal(SIGKILL);
  EXPECT_EQ(holder->line(), "released");
  EXPECT_EQ(tried(), 0);
  EXPECT_FALSE(alive(command_));
}

TEST_P(CommandOnStores, GetsTheLockAtItsFirstTryAfterItsGuardWasKilled) {
  const auto holder = hold();
  const auto guard = holder->guard();
  ::kill(guard, SIGKILL);
  EXPECT_EQ(holder->wait().code, 76);
  EXPECT_FALSE(alive(command_));
  world.end_holder(name);
  clock_.jump(past_renewal);  // A lock_delay, where the command asks for one, is over.
  EXPECT_EQ(tried(), 0);
  EXPECT_TRUE(nothing_left());
}

TEST_P(CommandOnStores, GetsTheLockAtItsFirstTryAfterSupervisorAndGuardWereKilled) {
  const auto holder = hold();
  kill_both(*holder);
  EXPECT_TRUE(eventually([&] { return !alive(command_); }));
  world.end_holder(name);
  clock_.jump(past_renewal);
  EXPECT_EQ(tried(), 0);
  EXPECT_TRUE(nothing_left());
}

TEST_P(CommandOnStores, GetsTheLockAtItsFirstTryAfterAWaiterWasKilled) {
  HOLDFAST_NEEDS(queues);
  const auto holder = hold();
  const auto waiter = get_in_line({"true"});
  const auto guard = waiter->guard();
  kill_both(*waiter);
  holder->signal(SIGTERM);
  EXPECT_EQ(holder->wait().code, 128 + SIGTERM);
  ASSERT_TRUE(world.bury(guard, name));
  clock_.jump(past_renewal);
  EXPECT_EQ(tried(), 0);
  EXPECT_TRUE(nothing_left());
}

TEST_P(CommandOnStores, FindsNothingOfOursOpen) {
  const Words plain = {"run", name, "--"};
  // Inside a run of the same name, holdfast replaces itself by the command.
  for (const Words& before :
       {plain, plain + Words{binary} + plain, Words{"run", "--kill-tree", name, "--"}})
    EXPECT_EQ(listed_open(before).out, "0\n1\n2\n3\n");
}

TEST_P(CommandOnStores, FindsWhatItsCallerHadOpen) {
  const auto give = [file = path("kept")] {
    const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(opened, 7);
    if (opened != 7) ::close(opened);
  };
  const Words plain = {"run", name, "--"};
  for (const Words& before :
       {plain, plain + Words{binary} + plain, Words{"run", "--kill-tree=pidns", name, "--"}}) {
    write("kept", "");
    const auto outcome = listed_open(before, give);
    if (outcome.code == 78) continue;  // Namespaces are not allowed here.
    EXPECT_EQ(outcome.out, "0\n1\n2\n3\n7\n") << outcome.err;
    EXPECT_EQ(read("kept"), "kept\n");
  }
}

}  // namespace
}  // namespace holdfast::cli_test
