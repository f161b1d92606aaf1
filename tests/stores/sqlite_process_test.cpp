// Goal: processes hand over by message, and the death of one is noticed at once.
// Method: real processes, forked before this one opens the file; killed with SIGKILL; and a socket
// that sends nonsense.
#include <gtest/gtest.h>
#include <sys/un.h>

#include <fstream>
#include <random>
#include <thread>

#include "stores/sqlite/live.hpp"
#include "stores/sqlite/post.hpp"
#include "stores/sqlite_support.hpp"

namespace holdfast::stores::sqlite {
namespace {

using namespace testing_support;

class SqliteProcesses : public testing::Test {
 protected:
  // Holds "n" until it hears something, then releases it.
  void hold(const Peer::Line& line) const {
    SqliteClient client(path);
    const ClaimId claim = fresh_claim();
    EXPECT_EQ(client.ask("n", claim).said, Said::yes);
    line.say("held");
    line.hear();
    EXPECT_EQ(client.release("n", claim).said, Said::yes);
    line.say("released");
  }
  // Stands in line for "n" and says so, for ever.
  void wait_in_line(const Peer::Line& line) const {
    line.hear();
    SqliteClient client(path);
    EXPECT_EQ(client.ask("n", fresh_claim(), true).said, Said::queued);
    line.say("waits");
    line.hear();
  }

  Folder folder;
  const std::string path = folder.file();
};

TEST_F(SqliteProcesses, AReleaseWakesTheNextProcessByMessage) {
  Peer holder([&](const auto& line) { hold(line); });
  ASSERT_EQ(holder.hear(), "held");
  SqliteClient client(path);
  const ClaimId claim = fresh_claim();
  const Answer queued = client.ask("n", claim, true);
  EXPECT_EQ(queued.said, Said::queued);
  holder.say("go");
  ASSERT_TRUE(client.stay_until([&] { return !client.hints.grants().empty(); }));
  EXPECT_EQ(client.hints.grants()[0].claim, claim);
  EXPECT_EQ(client.hints.grants()[0].answer.number, 2u);
  EXPECT_TRUE(client.hints.looks().empty());
  EXPECT_EQ(client.renew("n", claim).said, Said::yes);
  EXPECT_EQ(holder.hear(), "released");
  EXPECT_EQ(holder.finish(), 0);
}

TEST_F(SqliteProcesses, AKilledHolderIsNoticedLongBeforeItsTtl) {
  Peer holder([&](const auto& line) { hold(line); });
  ASSERT_EQ(holder.hear(), "held");
  SqliteClient client(path);
  const ClaimId claim = fresh_claim();
  ASSERT_EQ(client.ask("n", claim, true).said, Said::queued);
  EXPECT_FALSE(client.stay_until([&] { return !client.hints.looks().empty(); }, 100ms));
  holder.kill();
  ASSERT_TRUE(client.stay_until([&] { return !client.hints.looks().empty(); }));
  EXPECT_EQ(client.hints.looks(), std::vector<std::string>{"n"});
  const Answer granted = client.ask("n", claim, true);
  EXPECT_EQ(granted.said, Said::yes);
  EXPECT_EQ(granted.number, 2u);
}

TEST_F(SqliteProcesses, AThreadThatSleepsForMessagesIsToldOfADeathToo) {
  Peer holder([&](const auto& line) { hold(line); });
  ASSERT_EQ(holder.hear(), "held");
  SqliteClient client(path);
  std::jthread hand([&] {
    client.stay_until(
        [&] { return !client.hints.looks().empty(); });  // it began before the file was open
  });
  ASSERT_EQ(client.ask("n", fresh_claim(), true).said, Said::queued);
  holder.kill();
  hand.join();
  EXPECT_FALSE(client.hints.looks().empty());
}

TEST_F(SqliteProcesses, AKilledWaiterIsSkipped) {
  Peer waiter([&](const auto& line) { wait_in_line(line); });
  SqliteClient alice(path), bob(path);
  const ClaimId hers = fresh_claim(), his = fresh_claim();
  alice.ask("n", hers);
  waiter.say("go");
  ASSERT_EQ(waiter.hear(), "waits");
  EXPECT_EQ(bob.ask("n", his, true).ttl, 0s);
  waiter.kill();
  alice.release("n", hers);
  EXPECT_TRUE(bob.stay_until([&] { return !bob.hints.grants().empty(); }));
}

TEST_F(SqliteProcesses, AWaiterBehindADeadOneLearnsOfIt) {
  Peer waiter([&](const auto& line) { wait_in_line(line); });
  SqliteClient alice(path), bob(path);
  alice.ask("n", fresh_claim());
  waiter.say("go");
  ASSERT_EQ(waiter.hear(), "waits");
  const ClaimId his = fresh_claim();
  bob.ask("n", his, true);
  waiter.kill();
  EXPECT_TRUE(bob.stay_until([&] { return !bob.hints.looks().empty(); }));
  EXPECT_GT(bob.ask("n", his, true).ttl, 0s);  // now the first in line
}

TEST_F(SqliteProcesses, LockDelayIsKeptAfterADeath) {
  Peer holder([&](const auto& line) {
    SqliteClient client(path);
    Ask careful = Client::wanting("n", fresh_claim());
    careful.lock_delay = 60s;
    EXPECT_EQ(client.ask(careful).said, Said::yes);
    line.say("held");
    line.hear();
  });
  ASSERT_EQ(holder.hear(), "held");
  holder.kill();
  SqliteClient client(path);
  EXPECT_EQ(client.ask("n", fresh_claim()).problem.reason, "lock_delay");
}

TEST_F(SqliteProcesses, AWriterKilledInItsTransactionLeavesTheFileSound) {
  SqliteClient(path).init();
  for (int round = 0; round < 20; ++round) {
    Peer busy([&](const auto& line) {
      SqliteClient client(path);
      client.init();
      line.say("starts");
      for (;;) {
        const ClaimId claim = fresh_claim();
        client.ask("n", claim);
        client.release("n", claim);
      }
    });
    ASSERT_EQ(busy.hear(), "starts");
    busy.kill();
  }
  SqliteClient client(path);
  EXPECT_EQ(client.ask("n", fresh_claim()).said, Said::yes);
  EXPECT_EQ(sql(path, "PRAGMA integrity_check"), "ok");
}

TEST_F(SqliteProcesses, ExclusionAndNumbersHoldBetweenProcesses) {
  const auto work = [&](const Peer::Line& line) {
    SqliteClient client(path);
    client.init();
    line.say("ready");
    line.hear();
    for (int round = 0; round < 50; ++round) {
      const ClaimId claim = fresh_claim();
      Answer answer = client.ask("n", claim, true);
      for (int tries = 0; answer.said == Said::queued && tries < 1000; ++tries) {
        const auto grants = [&] { return client.hints.grants().size(); };
        const auto before = grants();
        client.stay_until([&] { return grants() > before; }, 20ms);
        answer = client.ask("n", claim, true);
      }
      ASSERT_EQ(answer.said, Said::yes);
      std::uint64_t last = 0;
      std::ifstream(folder.file("witness")) >> last;
      EXPECT_GT(answer.number, last);
      std::ofstream(folder.file("witness")) << answer.number;
      EXPECT_EQ(client.release("n", claim).said, Said::yes);
    }
  };
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(std::make_unique<Peer>(work));
  for (auto& peer : peers) EXPECT_EQ(peer->hear(), "ready");
  for (auto& peer : peers) peer->say("go");
  for (auto& peer : peers) EXPECT_EQ(peer->finish(), 0);
  std::uint64_t last = 0;
  std::ifstream(folder.file("witness")) >> last;
  EXPECT_EQ(last, 150u);
}

TEST_F(SqliteProcesses, AForkedChildOwnsNothingAndMayOpenTheFileItself) {
  SqliteClient parents(path);
  const ClaimId claim = fresh_claim();
  ASSERT_EQ(parents.ask("n", claim).said, Said::yes);
  Peer child([&](const auto& line) {
    EXPECT_EQ(parents.ask("n", claim).problem.reason, "forked");
    EXPECT_EQ(parents.renew("n", claim).said, Said::no);
    {
      SqliteClient own(path);
      EXPECT_EQ(own.ask("n", fresh_claim()).said, Said::no);
      EXPECT_EQ(own.ask("other", fresh_claim()).said, Said::yes);
      line.say("holds the other");
      line.hear();
    }
    parents.close();
  });
  EXPECT_EQ(child.hear(), "holds the other");
  EXPECT_EQ(parents.renew("n", claim).said, Said::yes);
  EXPECT_EQ(parents.ask("other", fresh_claim()).said, Said::no);
  child.say("end");
  EXPECT_EQ(child.finish(), 0);
  EXPECT_EQ(parents.ask("other", fresh_claim()).said, Said::yes);
  EXPECT_EQ(parents.release("n", claim).said, Said::yes);
}

TEST_F(SqliteProcesses, AForkWhileOthersWorkLeavesTheChildAUsableFile) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "a fork may leave the child the lock of ThreadSanitizer's own allocator";
#endif
  SqliteClient parents(path);
  std::atomic<bool> stop{false};
  std::jthread busy([&] {
    while (!stop) {
      const ClaimId claim = fresh_claim();
      EXPECT_EQ(parents.ask("busy", claim).said, Said::yes);
      EXPECT_EQ(parents.release("busy", claim).said, Said::yes);
      parents.backend().help(nullptr, in(1ms), -1);  // otherwise the child hardly gets at the file
    }
  });
  for (int round = 0; round < 20; ++round) {
    Peer child([&](const auto&) {
      SqliteClient own(path);
      EXPECT_EQ(own.ask("n", fresh_claim()).said, Said::yes);
    });
    EXPECT_EQ(child.finish(), 0);
  }
  stop = true;
  busy.join();
  EXPECT_EQ(sql(path, "PRAGMA integrity_check"), "ok");
}

TEST_F(SqliteProcesses, SocketsOfTheDeadAreRemoved) {
  Peer holder([&](const auto& line) { hold(line); });
  ASSERT_EQ(holder.hear(), "held");
  holder.kill();
  SqliteClient client(path);
  client.init();
  const auto sockets = std::filesystem::directory_iterator(path + "-sock");
  EXPECT_EQ(std::distance(begin(sockets), end(sockets)), 1);
}

TEST_F(SqliteProcesses, HostileDatagramsAreIgnored) {
  SqliteClient client(path);
  const ClaimId claim = fresh_claim();
  client.ask("n", claim);
  const auto target = std::filesystem::directory_iterator(path + "-sock")->path().string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(target.size(), sizeof address.sun_path);
  target.copy(address.sun_path, target.size());
  const int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto post = [&](const std::string& bytes) {
    sendto(sender, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&address),
           sizeof address);
    client.backend().help(nullptr, BootClock::now(), -1);
  };
  const std::string sound = encode({core::Notice::What::gone, claim, 7, 1s, 5, "n"});
  for (std::size_t size = 0; size < sound.size(); ++size) post(sound.substr(0, size));
  post(sound + "x");
  post(std::string(60'000, 'x'));
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    std::string bytes = sound;
    bytes[random() % 8] = static_cast<char>(random());
    if (bytes.substr(0, 8) != sound.substr(0, 8) && bytes[5] == 0) post(bytes);
  }
  EXPECT_LE(client.hints.grants().size(), 500u);
  EXPECT_TRUE(client.hints.gones().empty());
  post(sound);
  EXPECT_EQ(client.hints.gones(), std::vector{claim});
  close(sender);
}

TEST(SqliteMessages, AreReadAsTheyWereWritten) {
  const Message sent{core::Notice::What::granted, fresh_claim(), (1ull << 53) - 1, 30s, 123456789,
                     std::string("a\0b", 3)};
  const auto read = decode(encode(sent));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->claim, sent.claim);
  EXPECT_EQ(read->number, sent.number);
  EXPECT_EQ(read->ttl, sent.ttl);
  EXPECT_EQ(read->store_us, sent.store_us);
  EXPECT_EQ(read->name, sent.name);
}

}  // namespace
}  // namespace holdfast::stores::sqlite
