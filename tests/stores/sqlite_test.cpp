// Goal: the SQLite store keeps claims and cells in its file, for as many stores as open it.
// Method: directly against the backend, standing in for the core.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "stores/sqlite_support.hpp"
#include "support/eventually.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace testing_support;

class Sqlite : public testing::Test {
 protected:
  Folder folder;
  const std::string path = folder.file();
};

TEST_F(Sqlite, NothingIsTouchedBeforeTheFirstUse) {
  SqliteClient client(folder.file("made/of/folders/locks.db"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(client.init().said, Said::yes);
  struct stat about {};
  ASSERT_EQ(stat(folder.file("made/of/folders/locks.db").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(folder.file("made/of/folders").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
}

TEST_F(Sqlite, GrantsRenewsAndReleases) {
  SqliteClient alice(path), bob(path);
  const ClaimId hers = fresh_claim();
  const Answer granted = alice.ask("n", hers);
  EXPECT_EQ(granted.said, Said::yes);
  EXPECT_EQ(granted.number, 1u);
  EXPECT_EQ(granted.ttl, 30s);
  const Answer busy = bob.ask("n", fresh_claim());
  EXPECT_EQ(busy.said, Said::no);
  ASSERT_TRUE(busy.holder);
  EXPECT_EQ(busy.holder->who, "a test");
  EXPECT_EQ(busy.holder->token.value, 1024u);
  EXPECT_EQ(alice.renew("n", hers).said, Said::yes);
  EXPECT_EQ(bob.release("n", fresh_claim()).said, Said::gone);
  EXPECT_EQ(alice.release("n", hers).said, Said::yes);
  EXPECT_EQ(alice.renew("n", hers).said, Said::gone);
  EXPECT_EQ(bob.ask("n", fresh_claim()).number, 2u);
}

TEST_F(Sqlite, AReleaseGrantsTheNextAndSendsItAMessage) {
  SqliteClient alice(path), bob(path);
  const ClaimId hers = fresh_claim(), his = fresh_claim();
  alice.ask("n", hers);
  const Answer queued = bob.ask("n", his, true);
  EXPECT_EQ(queued.said, Said::queued);
  EXPECT_GT(queued.ttl, 29s);
  alice.release("n", hers);
  ASSERT_TRUE(bob.stay_until([&] { return !bob.hints.grants().empty(); }));
  const auto grant = bob.hints.grants()[0];
  EXPECT_EQ(grant.name, "n");
  EXPECT_EQ(grant.claim, his);
  EXPECT_EQ(grant.answer.said, Said::yes);
  EXPECT_EQ(grant.answer.number, 2u);
  EXPECT_EQ(grant.answer.ttl, 30s);
  EXPECT_GE(grant.answer.store_us, queued.store_us);
  EXPECT_EQ(bob.ask("n", his, true).number, 2u);
}

TEST_F(Sqlite, NumbersGoOnWhenTheFileIsOpenedAgain) {
  std::uint64_t last = 0;
  for (int round = 0; round < 3; ++round) {
    SqliteClient client(path);
    const ClaimId claim = fresh_claim();
    const Answer answer = client.ask("n", claim);
    EXPECT_GT(answer.number, last);
    last = answer.number;
    client.release("n", claim);
  }
}

TEST_F(Sqlite, AStoreThatEndsWithoutReleasingIsDead) {
  {
    SqliteClient careless(path);
    EXPECT_EQ(careless.ask("n", fresh_claim()).said, Said::yes);
  }
  SqliteClient next(path);
  EXPECT_EQ(next.ask("n", fresh_claim()).said, Said::yes);
}

TEST_F(Sqlite, NamesAreBytesAndNothingElse) {
  SqliteClient client(path);
  std::string every(256, '\0');
  for (std::size_t i = 0; i < every.size(); ++i) every[i] = static_cast<char>(i);
  for (const std::string& name : {every, std::string("a\0b", 3), std::string("a"), std::string("A"),
                                  std::string("'; DROP TABLE claims; --"), std::string("%s%n"),
                                  std::string(512, 'x'), std::string(512, '\xff')}) {
    EXPECT_EQ(client.ask(name, fresh_claim()).number, 1u);
    EXPECT_EQ(client.ask(name, fresh_claim()).said, Said::no);
  }
  EXPECT_EQ(client.list().holders.size(), 8u);
  EXPECT_EQ(client.list(std::string(511, '\xff')).holders.size(), 1u);
  EXPECT_EQ(client.list("a").holders.size(), 2u);
}

TEST_F(Sqlite, ListsEveryNameOnceInAsManyPagesAsThereAre) {
  SqliteClient client(path);
  ASSERT_EQ(client.ask("a", fresh_claim(), false, support::held_long).said, Said::yes);
  sql(path,
      "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1200) "
      "INSERT INTO claims SELECT CAST('a' || n AS BLOB), position, id, standing, revoked, weight, "
      "claims.number, ttl_us, since_us, expires_us, lock_delay_us, slot, nonce, about "
      "FROM claims, number");
  ASSERT_EQ(client.ask("b", fresh_claim(), false, support::held_long).said, Said::yes);
  const auto names_of = [](const Listing& listing) {
    EXPECT_EQ(listing.problem.errc, Errc{}) << listing.problem.text;
    std::set<std::string> names;
    for (const Holder& holder : listing.holders) EXPECT_TRUE(names.insert(holder.name).second);
    return names.size();
  };
  EXPECT_EQ(names_of(client.list("a")), 1201u);
  EXPECT_EQ(names_of(client.list_slowly()), 1202u);
  EXPECT_EQ(names_of(client.describe("a7")), 1u);
}

TEST_F(Sqlite, ListsHoldersAndWaitersWithoutWhatAReleaseNeeds) {
  SqliteClient alice(path), bob(path);
  alice.ask("b", fresh_claim());
  bob.ask("b", fresh_claim(), true);
  alice.ask("a", fresh_claim());
  const Listing listing = bob.list();
  ASSERT_EQ(listing.holders.size(), 3u);
  EXPECT_EQ(listing.holders[0].name, "a");
  EXPECT_EQ(listing.holders[1].token.value, 1024u);
  EXPECT_FALSE(listing.holders[1].waits);
  EXPECT_TRUE(listing.holders[2].waits);
  EXPECT_TRUE(listing.holders[2].ttl_left);
}

TEST_F(Sqlite, RevokeTellsTheHolder) {
  SqliteClient alice(path), bob(path);
  const ClaimId hers = fresh_claim();
  alice.ask("n", hers);
  EXPECT_EQ(bob.revoke("n", false).said, Said::yes);
  EXPECT_TRUE(alice.stay_until([&] { return alice.hints.gones() == std::vector{hers}; }));
  EXPECT_EQ(alice.renew("n", hers).problem.reason, "revoked");
  EXPECT_EQ(bob.revoke("n", true).said, Said::yes);
  EXPECT_EQ(bob.ask("n", fresh_claim()).said, Said::yes);
}

TEST_F(Sqlite, ADoubtfulDropOutlivesTheStoreThatMadeIt) {
  const ClaimId claim = fresh_claim();
  { SqliteClient(path).release("n", claim, true); }
  SqliteClient client(path);
  EXPECT_EQ(client.ask("n", claim).said, Said::gone);
}

TEST_F(Sqlite, CellsAddSwapAndExpire) {
  SqliteClient alice(path), bob(path);
  EXPECT_EQ(alice.get("c").version, 0u);
  EXPECT_EQ(alice.add({.name = "c", .by = 3, .least = 0, .most = 5}).number, 3);
  EXPECT_EQ(bob.add({.name = "c", .by = 3, .least = 0, .most = 5}).said, Said::no);
  EXPECT_EQ(bob.get("c").number, 3);
  const Cell made = alice.swap({.name = "s", .bytes = "one"});
  EXPECT_EQ(made.said, Said::yes);
  EXPECT_EQ(bob.swap({.name = "s", .bytes = "two"}).said, Said::no);
  EXPECT_EQ(bob.swap({.name = "s", .if_version = made.version, .bytes = "two"}).said, Said::yes);
  EXPECT_EQ(alice.get("s").bytes, "two");
  const Cell brief = alice.swap({.name = "e", .bytes = "x", .expiry = 1ms});
  EXPECT_TRUE(alice.stay_until([&] { return alice.get("e").version == 0; }));
  EXPECT_EQ(alice.swap({.name = "e", .if_version = brief.version, .bytes = "y"}).said, Said::no);
}

TEST_F(Sqlite, ThreadsOfOneStoreShareItsConnection) {
  constexpr int threads = 4, rounds = 100;
  SqliteClient client(path);
  std::atomic<int> inside{0}, granted{0};
  {
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&] {
        for (int round = 0; round < rounds; ++round) {
          const ClaimId claim = fresh_claim();
          if (client.ask("n", claim).said != Said::yes) continue;
          EXPECT_EQ(++inside, 1);
          ++granted;
          --inside;
          EXPECT_EQ(client.release("n", claim).said, Said::yes);
        }
      });
  }
  EXPECT_GT(granted, 0);
}

TEST_F(Sqlite, StatesWhatItsFileCanPromise) {
  SqliteClient client(path);
  const Guarantees given = client.guarantees().guarantees;
  EXPECT_EQ(given.purpose, Purpose::correctness);
  EXPECT_TRUE(given.tokens && given.fifo && given.survives_restart && given.survives_clock_jump);
  EXPECT_GE(given.because.size(), 4u);
  EXPECT_TRUE(client.backend().traits().durable);
}

TEST_F(Sqlite, RelativeFilesBelongToTheFolderOfTheOpening) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  SqliteClient client("relative.db");
  std::filesystem::current_path(before);
  EXPECT_EQ(client.init().said, Said::yes);
  EXPECT_TRUE(std::filesystem::exists(folder.file("relative.db")));
}

TEST_F(Sqlite, RefusesWhatItsUrlCannotMean) {
  const auto problem_of = [](Url url) { return Client(holdfast_module()->open, url).problem.errc; };
  Url with_host = sqlite_url("/x.db");
  with_host.has_authority = true;
  with_host.hosts.push_back({"example", 0});
  EXPECT_EQ(problem_of(with_host), Errc::invalid);
  Url with_option = sqlite_url("x.db");
  with_option.options["mode"] = "fast";
  EXPECT_EQ(problem_of(with_option), Errc::invalid);
  EXPECT_EQ(problem_of(sqlite_url("")), Errc::invalid);
  Url absolute = sqlite_url(path);
  absolute.has_authority = true;
  EXPECT_TRUE(Client(holdfast_module()->open, absolute));
}

TEST_F(Sqlite, AFileLockedByAnotherForTooLongIsBusy) {
  SqliteClient client(path);
  client.init();
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  Answer late;
  EXPECT_TRUE(support::eventually([&] {  // The time may be up before the first try.
    late = client.ask(Client::wanting("n", fresh_claim()), 30ms);
    return late.problem.reason == "busy_file";
  }));
  EXPECT_EQ(late.said, Said::no);
  EXPECT_EQ(late.problem.errc, Errc::busy);
  EXPECT_EQ(late.problem.reason, "busy_file");
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  EXPECT_EQ(client.ask("n", fresh_claim()).said, Said::yes);
}

}  // namespace
}  // namespace holdfast
