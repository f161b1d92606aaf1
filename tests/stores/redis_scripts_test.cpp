// Goal: what the scripts do beyond core::Admission: few commands, keys that expire, waiters that do
// not listen, servers that are short of memory, hold foreign data or have forgotten.
// Method: each by hand on a real server, without a store in between.
#include <gtest/gtest.h>

#include <numeric>

#include "redis_talk.hpp"

namespace holdfast::stores::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t all = 1 << 20;

ClaimId id(int n) { return ClaimId{static_cast<std::uint8_t>(n), 0, 7}; }

class Scripts : public testing::Test {
 protected:
  static Ask wish(int claim, std::uint32_t weight = all, std::string_view name = "name") {
    Ask ask;
    ask.name = name;
    ask.claim = id(claim);
    ask.kind = Kind::rw;
    ask.capacity = all;
    ask.weight = weight;
    ask.ttl = 30s;
    ask.queue = true;
    ask.about = "somebody";
    return ask;
  }
  static Keep keep(int claim, std::uint32_t weight = all) {
    return {"name", id(claim), weight, 30s};
  }
  static Drop drop(int claim, bool doubtful = false) { return {"name", id(claim), doubtful, 30s}; }

  // How many commands the server ran: those inside scripts count, the scripts do not.
  template <class Step>
  long commands(Step&& step) {
    party.talk().command({"CONFIG", "RESETSTAT"});
    step();
    const auto calls = looker.calls();
    return std::accumulate(calls.begin(), calls.end(), 0L, [](long sum, const auto& each) {
      const bool counts = each.first != "evalsha" && !each.first.starts_with("config");
      return counts ? sum + each.second : sum;
    });
  }
  long long ttl_of_key() { return party.talk().command({"PTTL", lock_key("name")}).integer; }
  void run_out_of_memory() { party.talk().command({"CONFIG", "SET", "maxmemory", "1"}); }

  support::RedisServer server;
  support::RedisClient looker = server.client();
  Party party{server.port(), "one"};
  Party other{server.port(), "two"};
};

TEST_F(Scripts, TakeThreeCommandsOnTheShortPath) {
  party.ask(wish(1));
  party.release(drop(1));
  EXPECT_EQ(commands([&] { EXPECT_EQ(party.ask(wish(2)).said, Said::yes); }), 3);
  EXPECT_EQ(commands([&] { EXPECT_EQ(party.renew(keep(2)).said, Said::yes); }), 3);
  EXPECT_EQ(commands([&] { EXPECT_EQ(party.release(drop(2)).said, Said::yes); }), 3);
}

TEST_F(Scripts, TakeAsManyCommandsHoweverLongTheLineIs) {
  const auto round = [&](int claim) {
    return commands([&] {
      EXPECT_EQ(party.ask(wish(100 + claim)).said, Said::queued);
      EXPECT_EQ(party.release(drop(claim)).said, Said::yes);
    });
  };
  for (int claim = 1; claim <= 3; ++claim) party.ask(wish(claim));
  const long few = round(1);
  for (int claim = 3; claim <= 90; ++claim) party.ask(wish(claim));
  EXPECT_EQ(round(2), few);
  EXPECT_LE(few, 4 + 6);
  EXPECT_EQ(commands([&] { EXPECT_EQ(party.release(drop(50)).said, Said::yes); }), 8);  // mid-line
}

TEST_F(Scripts, LeaveOneSmallKeyThatExpires) {
  const Answer first = party.ask(wish(1));
  EXPECT_GT(ttl_of_key(), 0);
  party.release(drop(1));
  EXPECT_GT(ttl_of_key(), 0);
  EXPECT_EQ(looker.command({"HLEN", lock_key("name")}).integer, 1);
  EXPECT_EQ(looker.command({"HSTRLEN", lock_key("name"), "s"}).integer, 32);
  EXPECT_GT(party.ask(wish(2)).number, first.number);
  party.release(Drop{"nothing", id(9), false, 30s});
  EXPECT_EQ(looker.command({"EXISTS", lock_key("nothing")}).integer, 0);
}

TEST_F(Scripts, MintNumbersThatGrowEvenIfTheClockStands) {
  const Answer first = party.ask(wish(1));
  EXPECT_EQ(first.number, static_cast<std::uint64_t>(first.store_us));
  // As if the server's clock had been an hour ahead when the last number was minted.
  party.release(drop(1));
  const std::string key = lock_key("name");
  std::string state = looker.command({"HGET", key, "s"}).text;
  const std::uint64_t ahead = first.number + 3'600'000'000;
  for (int i = 0; i < 8; ++i)
    state[24 + static_cast<std::size_t>(i)] = static_cast<char>(ahead >> (56 - 8 * i));
  looker.command({"HSET", key, "s", state});
  EXPECT_EQ(party.ask(wish(2)).number, ahead + 1);
  party.ask(wish(3));
  party.release(drop(2));
  ASSERT_EQ(party.messages().at(0).answer.number, ahead + 2);
}

TEST_F(Scripts, SkipWhoeverDoesNotListen) {
  for (const std::uint32_t weight : {all, std::uint32_t{3}}) {
    party.ask(wish(1));
    Party deaf(server.port(), "nobody there");
    deaf.ask(wish(2, weight));
    deaf.talk().command({"CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes"});
    Party fresh(server.port(), "three");
    fresh.ask(wish(3, weight));
    EXPECT_EQ(party.release(drop(1)).said, Said::yes);
    const auto told = fresh.messages();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].claim, id(3));
    EXPECT_EQ(told[0].answer.ttl, 30s);
    EXPECT_EQ(fresh.describe("name").size(), 1u);
    EXPECT_EQ(fresh.release(drop(2)).said, Said::gone);
    EXPECT_EQ(fresh.release(drop(3)).said, Said::yes);
  }
}

TEST_F(Scripts, GrantForAShortTimeInClusterUntilItIsRenewed) {
  party.setting().cluster = true;
  party.ask(wish(1));
  party.setting().channel = "nobody there";
  party.ask(wish(2));
  party.release(drop(1));
  const auto holders = party.describe("name");
  ASSERT_EQ(holders.size(), 1u);
  EXPECT_FALSE(holders[0].waits);
  EXPECT_LE(holders[0].ttl_left, 2s);
  EXPECT_EQ(party.renew(keep(2)).ttl, 30s);
  EXPECT_GT(party.describe("name").at(0).ttl_left, 20s);
}

TEST_F(Scripts, TellHoldersThatTheyAreRevoked) {
  party.ask(wish(1, 1));
  other.ask(wish(2, 1));
  EXPECT_EQ(party.revoke("name", false).said, Said::yes);
  ASSERT_EQ(other.messages().size(), 1u);
  EXPECT_EQ(party.messages().at(0).what, Message::What::gone);
  EXPECT_EQ(party.renew(keep(1, 1)).problem.reason, "revoked");
  EXPECT_EQ(party.revoke("name", true).said, Said::yes);
  EXPECT_EQ(party.revoke("name", true).said, Said::gone);
}

TEST_F(Scripts, ShowHoldersThenTheLineAndNoClaim) {
  party.ask(wish(1, 5));
  other.ask(wish(2, 7));
  party.ask(wish(3));
  const auto shown = party.describe("name");
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_EQ(shown[0].weight, 5u);
  EXPECT_EQ(shown[1].weight, 7u);
  EXPECT_TRUE(shown[2].waits);
  EXPECT_EQ(shown[2].who, "somebody");
  EXPECT_TRUE(party.describe("never used").empty());
}

TEST_F(Scripts, RenewAndReleaseAHundredAtOnce) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("name " + std::to_string(i));
  std::vector<Keep> keeps;
  std::vector<Drop> drops;
  for (int i = 0; i < 100; ++i) {
    const auto& name = names[static_cast<std::size_t>(i)];
    if (i % 3 != 0) party.ask(wish(i, i % 3 == 1 ? all : 5, name));
    keeps.push_back({name, id(i), i % 3 == 1 ? all : 5, 20s});
    drops.push_back({name, id(i), false, 20s});
  }
  looker.command({"SET", lock_key(names[42]), "foreign"});
  const auto kept = party.renew(keeps);
  const auto dropped = party.release(drops);
  for (std::size_t i = 0; i < 100; ++i) {
    const Said said = i == 42 || i % 3 == 0 ? Said::gone : Said::yes;
    EXPECT_EQ(kept[i].said, said) << i;
    EXPECT_EQ(dropped[i].said, said) << i;
    EXPECT_EQ(kept[i].ttl, said == Said::yes ? 20s : 0s);
  }
}

TEST_F(Scripts, ReleaseWithoutMemoryWhateverTheyHold) {
  for (const auto* name : {"alone", "doubtful", "revoked"}) party.ask(wish(1, all, name));
  party.ask(wish(1));
  other.ask(wish(2, 3));
  other.ask(wish(3, 4));
  run_out_of_memory();
  EXPECT_EQ(party.ask(wish(9, all, "fresh")).problem.reason, "out_of_memory");
  EXPECT_EQ(party.ask(wish(9)).problem.reason, "out_of_memory");
  EXPECT_EQ(looker.command({"EXISTS", lock_key("fresh")}).integer, 0);

  EXPECT_EQ(party.release(Drop{"alone", id(1), false, 30s}).said, Said::yes);
  EXPECT_EQ(party.release(Drop{"doubtful", id(1), true, 30s}).said, Said::yes);
  EXPECT_EQ(party.ask(wish(1, all, "doubtful")).problem.reason, "withdrawn");
  EXPECT_EQ(party.revoke("revoked", false).said, Said::yes);
  EXPECT_EQ(party.release(drop(1)).said, Said::yes);  // hands over to two readers
  EXPECT_EQ(other.messages().size(), 2u);
  EXPECT_EQ(other.release(drop(2, true)).said, Said::yes);
  EXPECT_EQ(other.release(drop(3)).said, Said::yes);
  EXPECT_EQ(other.ask(wish(2)).problem.reason, "withdrawn");
}

TEST_F(Scripts, LeaveForeignKeysAlone) {
  const std::string key = lock_key("name");
  const auto refused = [&](Said of_a_grant = Said::gone) {  // another's key has no room for it
    const std::string before = looker.command({"DUMP", key}).text;
    for (const Answer& answer :
         {party.ask(wish(1)), party.ask(wish(1, 3)), party.revoke("name", true)}) {
      EXPECT_EQ(answer.said, Said::no);
      EXPECT_EQ(answer.problem.reason, "foreign");
      EXPECT_EQ(answer.problem.errc, Errc::busy);
    }
    for (const Answer& answer :
         {party.renew(keep(1)), party.release(drop(1)), party.release(drop(1, true))}) {
      EXPECT_EQ(answer.said, of_a_grant);
      EXPECT_EQ(answer.problem.reason, "foreign");
    }
    EXPECT_TRUE(party.describe("name").empty());
    EXPECT_EQ(looker.command({"DUMP", key}).text, before);
    looker.command({"DEL", key});
  };
  looker.command({"SET", key, "somebody's"});
  refused();
  looker.command({"HSET", key, "field", "somebody's"});
  refused();
  looker.command({"HSET", key, "s", "somebody's state of at least thirty-two bytes"});
  refused();
  looker.command({"HSET", key, "s", "h\2" + std::string(40, 'x')});
  refused(Said::no);  // a newer layout may have it
}

TEST_F(Scripts, GrantNothingNewInAServerThatMayHaveForgotten) {
  for (Party* each : {&party, &other}) each->setting().guard = true;
  EXPECT_FALSE(party.mark(Marking::look).ours);
  EXPECT_EQ(party.mark(Marking::first).quarantine, 0ms);
  EXPECT_EQ(party.ask(wish(1)).said, Said::yes);
  EXPECT_EQ(other.ask(wish(2)).said, Said::queued);

  party.run_id = other.run_id = "another";  // the server was restarted, with its data
  const Answer late = other.ask(wish(3, all, "free"));
  EXPECT_EQ(late.said, Said::no);
  EXPECT_EQ(late.problem.errc, Errc::unavailable);
  EXPECT_EQ(late.problem.reason, "quarantine");
  EXPECT_NE(late.problem.text.find(" 60 s"), std::string::npos) << late.problem.text;
  EXPECT_EQ(party.ask(wish(1)).said, Said::yes);  // claim 1 holds it
  EXPECT_EQ(party.renew(keep(1)).said, Said::yes);
  EXPECT_EQ(party.ask(wish(4)).said, Said::queued);
  EXPECT_EQ(party.release(drop(1)).said, Said::yes);
  EXPECT_TRUE(other.messages().empty());
  EXPECT_EQ(other.ask(wish(2)).said, Said::queued);  // first in line, and has to wait
  EXPECT_GT(other.ask(wish(2)).ttl, 50s);
  EXPECT_GT(party.mark(Marking::first).quarantine, 50s);

  looker.command({"SET", marker_key(), "another 1"});  // the quarantine is over
  EXPECT_EQ(party.release(drop(9)).said, Said::gone);  // any step lets in the first in line
  ASSERT_EQ(other.messages().size(), 1u);
  EXPECT_EQ(looker.command({"GET", marker_key()}).text, "another 0");

  looker.command({"FLUSHALL"});
  EXPECT_EQ(other.renew(keep(2)).said, Said::gone);  // a renewal notices it, too
  EXPECT_TRUE(party.mark(Marking::look).ours);
  EXPECT_GT(party.mark(Marking::touch).quarantine, 50s);
}

}  // namespace
}  // namespace holdfast::stores::redis
