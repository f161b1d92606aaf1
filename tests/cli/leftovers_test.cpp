// Goal: a `run` that has ended left nothing in the database, whether it got the lock or not.
// Method: SQL reads the rows at once, when no process is left that could remove them later.
#include <sys/stat.h>

#include <csignal>

#include "cli.hpp"
#include "support/sqlite_client.hpp"

namespace holdfast::cli_test {
namespace {

class RunLeavesNothing : public Cli {
 protected:
  Words claims() const {
    const support::SqliteClient database(path("locks.db"));
    return database.texts(
        "SELECT CASE standing WHEN 0 THEN 'waits' WHEN 1 THEN 'holds'"
        " WHEN 2 THEN 'mark' ELSE 'delay' END FROM claims WHERE name = CAST(? AS BLOB) ORDER BY "
        "position",
        "x");
  }
  Words sockets() const {
    Words names;
    for (const auto& each : std::filesystem::directory_iterator(path("locks.db-sock")))
      names.push_back(each.path().filename());
    return names;
  }
  std::unique_ptr<Running> start_holder() {
    auto holder = start({"run", "x", "--", "sleep", "1000"});
    EXPECT_TRUE(holder->line().starts_with("acquired"));
    return holder;
  }
  const Words held = {"holds"}, nothing = {};
};

TEST_F(RunLeavesNothing, WhenItsWaitTimedOut) {
  const auto holder = start_holder();
  ASSERT_EQ(claims(), held);
  for (const auto& wait : {"0s", "300ms"}) {
    EXPECT_EQ(holdfast({"run", "--wait", wait, "x", "--", "true"}).code, 75);
    EXPECT_EQ(claims(), held) << wait;
    EXPECT_EQ(sockets().size(), 1U) << wait;
  }
}

// Somebody else is using the database just then, as happens on a slow disk.
TEST_F(RunLeavesNothing, WhenItsWaitTimedOutAndTheDatabaseIsBusy) {
  const auto holder = start_holder();
  auto waiter = start({"run", "--wait", "2s", "x", "--", "true"});
  EXPECT_EQ(waiter->line(), "waiting");
  ASSERT_TRUE(eventually([&] { return claims().size() == 2; }));
  {
    const support::SqliteClient database(path("locks.db"));
    database.run("BEGIN IMMEDIATE");
    EXPECT_EQ(waiter->line(), "busy");
    database.run("COMMIT");
  }
  EXPECT_EQ(waiter->wait().code, 75);
  EXPECT_EQ(claims(), held);
}

TEST_F(RunLeavesNothing, WhenASignalEndedItsWait) {
  const auto holder = start_holder();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    auto waiter = start({"run", "x", "--", "true"});
    EXPECT_EQ(waiter->line(), "waiting");
    ASSERT_TRUE(eventually([&] { return claims().size() == 2; }));
    waiter->signal(signal);
    EXPECT_EQ(waiter->wait().code, 128 + signal);
    EXPECT_TRUE(eventually([&] { return claims() == held; }));  // Its guard may still be at it.
  }
}

TEST_F(RunLeavesNothing, WhenItsCommandHasEnded) {
  for (const auto& command : {"true", "false", "exit 7", "kill -9 $$"}) {
    holdfast({"run", "x", "--", "sh", "-c", command});
    EXPECT_EQ(claims(), nothing) << command;
    EXPECT_EQ(sockets(), nothing) << command;
  }
}

TEST_F(RunLeavesNothing, WhenItsCommandCannotBeExecutedAfterAll) {
  write("broken", "#!/no/such/interpreter\n");
  ::chmod(path("broken").c_str(), 0700);
  EXPECT_EQ(holdfast({"run", "x", "--", path("broken")}).code, 127);
  EXPECT_EQ(claims(), nothing);
}

TEST_F(RunLeavesNothing, OnceTheNextHasComeAndGoneAfterItWasKilled) {
  auto killed = start_holder();
  const auto guard = killed->guard();
  ::kill(guard, SIGKILL);
  killed->signal(SIGKILL);
  killed->wait();
  ASSERT_TRUE(eventually([&] { return !alive(guard); }));  // Until then its socket is in use.
  EXPECT_EQ(claims(), held);                               // Nobody has looked since.
  EXPECT_EQ(holdfast({"run", "x", "--", "true"}).code, 0);
  EXPECT_EQ(claims(), nothing);
  EXPECT_EQ(sockets(), nothing);
}

}  // namespace
}  // namespace holdfast::cli_test
