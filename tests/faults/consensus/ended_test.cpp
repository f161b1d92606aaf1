// A session or lease that the store ended, and a holder that was stopped past its end: what the
// holder sees, what a resource that checks tokens sees, and what becomes of a command (S22, S30,
// P03, P04).
#include <signal.h>

#include <cinttypes>
#include <cstdio>
#include <map>

#include "cli/cli.hpp"
#include "faults/consensus/keeper.hpp"
#include "faults/watched.hpp"
#include "support/peer.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Ended : public cli_test::Cli, public testing::WithParamInterface<KeeperCase> {
 protected:
  // These cases share three servers, which take seconds to start, and do not change them.
  static void TearDownTestSuite() { keepers_.clear(); }

  std::unique_ptr<cli_test::Running> run(const cli_test::Words& command) const {
    cli_test::Words words = {"--status-fd", "9", "run", "--ttl", ttl, name, "--"};
    words.insert(words.end(), command.begin(), command.end());
    auto made = plan(words);
    made.environment["HOLDFAST_STORE"] = url();
    made.status = true;
    return std::make_unique<cli_test::Running>(made);
  }
  std::string url() const { return keeper.url(session); }
  // "acquired token=7 ttl=30000ms"
  static Token token_in(const std::string& line) {
    Token token;
    EXPECT_EQ(std::sscanf(line.c_str(), "acquired token=%" SCNu64, &token.value), 1) << line;
    return token;
  }

  const std::string name = own_name();
  Millis session = 20s;
  std::string ttl = "30s";
  Keeper& keeper = shared(GetParam());

 private:
  static std::string own_name() {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    return test.substr(0, test.find('/'));
  }
  static Keeper& shared(const KeeperCase& row) {
    auto& keeper = keepers_[row.name];
    if (!keeper) keeper = row.make();
    return *keeper;
  }
  static inline std::map<std::string, std::unique_ptr<Keeper>> keepers_;
};

// The lease ends by itself while a process is stopped.
class EndedClock : public Ended {
 protected:
  EndedClock() {
    session = 6s;
    ttl = "6s";
  }
};

TEST_P(Ended, ByTheStoreIsTold) {
  const Watched alice(url());
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  keeper.end_holder(name);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  auto again = alice.take(name, {});
  ASSERT_TRUE(succeeded(again));
  EXPECT_GT(again->token(), lease->token());
}

// Not even a delay, or anything else that does not end with its lease.
TEST_P(Ended, AKilledRunLeavesNothing) {
  const auto holder = run(witnessed());
  ASSERT_TRUE(holder->line_after("waiting").starts_with("acquired"));
  pid_in("pid");
  EXPECT_FALSE(keeper.left_of(name).empty());
  ::kill(holder->guard(), SIGKILL);
  holder->signal(SIGKILL);
  keeper.end_holder(name);
  EXPECT_TRUE(eventually([&] { return keeper.left_of(name).empty(); }));
}

TEST_P(Ended, WhileTheHolderIsStopped) {
  Peer alice(url());
  const Token old = alice.acquire(name);
  alice.stop();
  keeper.end_holder(name);
  const auto bob = take_at_once(open(url()).value(), name);
  ASSERT_TRUE(succeeded(bob));
  alice.send("jump " + std::to_string(past_ttl.count()));  // For as long as it was stopped.
  alice.resume();
  EXPECT_EQ(alice.read(), "ok");
  EXPECT_EQ(alice.ask("valid " + name), "no");
  EXPECT_TRUE(eventually([&] { return alice.ask("lost " + name) == "yes"; }));
  EXPECT_LT(old, bob->token()) << "a resource that checks tokens refuses the old one";
  EXPECT_EQ(alice.ask("release " + name).substr(0, 10), "error lost");
  EXPECT_TRUE(bob->valid());
}

// The store has ended the lease already, so the next holder may get in a moment before the command
// is dead, with a greater token. After the holder's own end nobody is at work.
TEST_P(Ended, ByTheStoreEndsTheCommand) {
  const auto holder = run(witnessed());
  const auto first = token_in(holder->line_after("waiting"));
  const auto command = pid_in("pid");
  const auto next = run({"true"});
  ASSERT_EQ(next->line(), "waiting");
  ASSERT_TRUE(cli_test::alive(command));
  keeper.end_holder(name);
  EXPECT_EQ(holder->line(), "lost");
  EXPECT_EQ(holder->wait().code, 76);
  EXPECT_FALSE(cli_test::alive(command));
  EXPECT_GT(token_in(next->line_after("waiting")), first);
  EXPECT_EQ(next->wait().code, 0);
  EXPECT_EQ(run(alone())->wait().code, 0) << "somebody was still at work";
}

TEST_P(EndedClock, WhileTheSupervisorIsStoppedTheCommandIsDeadBeforeTheNext) {
  const auto holder = run(witnessed());
  ASSERT_TRUE(holder->line_after("waiting").starts_with("acquired"));
  const auto next = run(alone());
  ASSERT_EQ(next->line(), "waiting");
  holder->signal(SIGSTOP);
  EXPECT_EQ(next->wait().code, 0) << "the command was still there";
  holder->signal(SIGCONT);
  EXPECT_EQ(holder->wait().code, 76);
}

TEST_P(EndedClock, WhileTheGuardIsStoppedTheCommandIsDeadBeforeTheNext) {
  const auto holder = run(witnessed());
  ASSERT_TRUE(holder->line_after("waiting").starts_with("acquired"));
  const auto guard = holder->guard();
  const auto next = run(alone());
  ASSERT_EQ(next->line(), "waiting");
  ASSERT_EQ(::kill(guard, SIGSTOP), 0);
  EXPECT_EQ(next->wait().code, 0) << "the command was still there";
  EXPECT_EQ(holder->wait().code, 76);
}

HOLDFAST_ON_EVERY_KEEPER(Ended);
HOLDFAST_ON_EVERY_KEEPER(EndedClock);

}  // namespace
}  // namespace holdfast
