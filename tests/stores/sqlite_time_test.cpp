// Goal: stamps of another boot or another clock are not believed; layouts of other versions are
// upgraded or refused; names that nobody uses are forgotten in the end.
// Method: the test changes the file as a reboot, an older program or a long time would have.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>

#include <fstream>

#include "stores/sqlite/layout.hpp"
#include "stores/sqlite_support.hpp"

namespace holdfast::stores::sqlite {
namespace {

using namespace testing_support;

class SqliteTime : public testing::Test {
 protected:
  // A process that holds "n" until it hears something; its byte stays locked that long.
  void hold(const Peer::Line& line, Millis lock_delay = 0s) const {
    SqliteClient client(path);
    Ask ask = Client::wanting("n", fresh_claim());
    ask.lock_delay = lock_delay;
    EXPECT_EQ(client.ask(ask).said, Said::yes);
    line.say("held");
    line.hear();
  }
  Folder folder;
  const std::string path = folder.file();
};

TEST_F(SqliteTime, AnotherBootEndsAllClaimsAndKeepsTheNumbers) {
  Peer holder([&](const auto& line) { hold(line); });
  ASSERT_EQ(holder.hear(), "held");
  sql(path, "UPDATE meta SET value = 'another' WHERE key = 'boot_id'");
  SqliteClient client(path);
  const Answer answer = client.ask("n", fresh_claim());
  EXPECT_EQ(answer.said, Said::yes);
  EXPECT_EQ(answer.number, 2u);
  holder.say("end");
}

TEST_F(SqliteTime, LockDelayAndCellsBeginAnewAfterAnotherBoot) {
  Peer holder([&](const auto& line) { hold(line, 60s); });
  ASSERT_EQ(holder.hear(), "held");
  sql(path,
      "INSERT INTO cells VALUES (CAST('c' AS BLOB), 5, 1, x'', 60000, 1);"
      "UPDATE meta SET value = 'another' WHERE key = 'boot_id'");
  SqliteClient client(path);
  EXPECT_EQ(client.ask("n", fresh_claim()).problem.reason, "lock_delay");
  EXPECT_EQ(client.get("c").number, 5);
  holder.say("end");
}

TEST_F(SqliteTime, AnotherTimeNamespaceIsRefusedWhileTheFileIsInUse) {
  Peer holder([&](const auto& line) { hold(line); });
  ASSERT_EQ(holder.hear(), "held");
  sql(path, "UPDATE meta SET value = '1' WHERE key = 'time_namespace'");
  {
    SqliteClient client(path);
    const Answer refused = client.ask("n", fresh_claim());
    EXPECT_EQ(refused.said, Said::no);
    EXPECT_EQ(refused.problem.errc, Errc::invalid);
    EXPECT_EQ(refused.problem.reason, "time_namespace");
  }
  holder.kill();
  SqliteClient client(path);
  EXPECT_EQ(client.ask("n", fresh_claim()).number, 2u);  // nobody uses the file, so it is adopted
}

TEST_F(SqliteTime, ARealTimeNamespaceIsSeen) {
  Peer elsewhere([&](const auto& line) {
    line.hear();
    enter_namespace(CLONE_NEWTIME);
    std::ofstream("/proc/self/timens_offsets") << "boottime 100000 0\n";
    Peer inside([&](const auto&) {
      SqliteClient client(path);
      EXPECT_EQ(client.ask("n", fresh_claim()).problem.reason, "time_namespace");
    });
    EXPECT_EQ(inside.finish(), 0);
  });
  SqliteClient client(path);
  client.ask("n", fresh_claim());
  elsewhere.say("go");
  EXPECT_EQ(elsewhere.finish(), 0);
}

TEST_F(SqliteTime, AnOlderLayoutIsUpgradedAndKeepsWhatItHas) {
  { std::ofstream file(path); }
  chmod(path.c_str(), 0600);
  sql(path, std::string("PRAGMA journal_mode = WAL;") + layout_steps[0] +
                "PRAGMA application_id = " + std::to_string(application_id) +
                "; PRAGMA user_version = 1;" +
                "INSERT INTO names VALUES (CAST('n' AS BLOB), 0, 1, 41, 0, 0, 0)");
  SqliteClient client(path);
  EXPECT_EQ(client.ask("n", fresh_claim()).number, 42u);
  EXPECT_EQ(client.add({.name = "c", .by = 1, .least = 0, .most = 5}).said, Said::yes);
  EXPECT_EQ(sql(path, "PRAGMA user_version"), std::to_string(layout_version));
}

// In layout 3 a lock_delay was stored beside the name, not in a claim.
TEST_F(SqliteTime, ALockDelayThatRunsIsKeptByAnUpgrade) {
  { std::ofstream file(path); }
  chmod(path.c_str(), 0600);
  sql(path, std::string("PRAGMA journal_mode = WAL;") + layout_steps[0] + layout_steps[1] +
                layout_steps[2] + "PRAGMA application_id = " + std::to_string(application_id) +
                "; PRAGMA user_version = 3;" +
                "INSERT INTO names VALUES (CAST('n' AS BLOB), 0, 1, 41, 60000000, 1 << 60, 0);" +
                "INSERT INTO names VALUES (CAST('free' AS BLOB), 0, 1, 41, 0, 0, 0)");
  SqliteClient client(path);
  EXPECT_EQ(client.ask("n", fresh_claim()).problem.reason, "lock_delay");
  EXPECT_EQ(client.ask("free", fresh_claim()).number, 42u);
}

// A file of a layout that kept no floor: names that were swept from it are forgotten, and nobody
// knows how far they had counted.
TEST_F(SqliteTime, AnOlderFileThatWasInUseBeginsNewNamesAboveAnyCount) {
  { std::ofstream file(path); }
  chmod(path.c_str(), 0600);
  sql(path, std::string("PRAGMA journal_mode = WAL;") + layout_steps[0] + layout_steps[1] +
                "PRAGMA application_id = " + std::to_string(application_id) +
                "; PRAGMA user_version = 2;" +
                "INSERT INTO meta VALUES ('boot_id', 'of another boot');" +
                "INSERT INTO names VALUES (CAST('kept' AS BLOB), 0, 1, 41, 0, 0, 0)");
  SqliteClient client(path);
  EXPECT_EQ(client.ask("kept", fresh_claim()).number, 42u);
  EXPECT_GT(client.ask("swept", fresh_claim()).number, std::uint64_t{1} << 44);
}

// Otherwise a weekly job would be refused by its own fence, when its name begins again at 1.
TEST_F(SqliteTime, ANameThatWasSweptAwayGoesOnAboveItsNumbers) {
  std::uint64_t last = 0;
  for (int run = 0; run < 3; ++run) {
    SqliteClient client(path);
    const ClaimId claim = fresh_claim();
    last = client.ask("weekly", claim).number;
    client.release("weekly", claim);
  }
  sql(path, "UPDATE names SET used_us = -1000000000000");  // not used for days
  SqliteClient client(path);
  EXPECT_GT(client.ask("another", fresh_claim()).number, 0u);
  ASSERT_EQ(sql(path, "SELECT count(*) FROM names WHERE name = CAST('weekly' AS BLOB)"), "0");
  EXPECT_GT(client.ask("weekly", fresh_claim()).number, last);
  EXPECT_GT(SqliteClient(path).ask("never/used", fresh_claim()).number, last);
}

TEST_F(SqliteTime, ANewerLayoutIsRefusedAndNotTouched) {
  { SqliteClient(path).ask("n", fresh_claim()); }
  sql(path, "PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)");
  const auto written = std::filesystem::last_write_time(path);
  SqliteClient client(path);
  const Answer answer = client.ask("n", fresh_claim());
  EXPECT_EQ(answer.said, Said::no);
  EXPECT_EQ(answer.problem.errc, Errc::corrupt);
  EXPECT_EQ(answer.problem.reason, "newer_schema");
  EXPECT_EQ(sql(path, "PRAGMA user_version"), "99");
  EXPECT_EQ(std::filesystem::last_write_time(path), written);
}

TEST_F(SqliteTime, ProcessesThatCreateItTogetherAgree) {
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 6; ++i)
    peers.push_back(std::make_unique<Peer>([&](const Peer::Line& line) {
      line.hear();
      SqliteClient client(path);
      EXPECT_EQ(client.ask("n" + std::to_string(getpid()), fresh_claim()).said, Said::yes);
      line.say("done");
      line.hear();
    }));
  for (auto& peer : peers) peer->say("go");
  for (auto& peer : peers) EXPECT_EQ(peer->hear(), "done");
  EXPECT_EQ(SqliteClient(path).list().holders.size(), peers.size());
  for (auto& peer : peers) peer->say("end");
  for (auto& peer : peers) EXPECT_EQ(peer->finish(), 0);
}

TEST_F(SqliteTime, NamesThatNobodyUsedForADayAreForgotten) {
  SqliteClient client(path);
  const ClaimId held = fresh_claim();
  client.ask("held", held);
  for (int i = 0; i < 10; ++i) {
    const ClaimId claim = fresh_claim();
    client.ask("old" + std::to_string(i), claim);
    client.release("old" + std::to_string(i), claim);
  }
  const auto names = [&] { return sql(path, "SELECT count(*) FROM names"); };
  EXPECT_EQ(names(), "11");
  sql(path, "UPDATE names SET used_us = used_us - 26 * 3600 * 1000000");
  for (int i = 0; i < 10; ++i) client.ask("new" + std::to_string(i), fresh_claim());
  EXPECT_EQ(names(), "11");  // the ten new ones and the one that is held
  EXPECT_EQ(client.renew("held", held).said, Said::yes);
}

}  // namespace
}  // namespace holdfast::stores::sqlite
