// Goal: cells count exactly, to both ends of 64 bits, and the string dialect is what others use.
// Method: compares with stores::add and swap, which the embedded stores use, and plain commands.
#include <gtest/gtest.h>

#include <limits>

#include "redis_talk.hpp"
#include "stores/common/cell.hpp"

namespace holdfast::stores::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

class CellScripts : public testing::Test {
 protected:
  Add by(std::int64_t by, std::int64_t least = lowest, std::int64_t most = highest) {
    return {.name = "cell", .by = by, .least = least, .most = most};
  }
  support::RedisServer server;
  support::RedisClient looker = server.client();
  Party party{server.port(), "one"};
};

TEST_F(CellScripts, AddAsTheEmbeddedStoresDo) {
  constexpr std::int64_t edge = std::int64_t{1} << 53;
  const std::int64_t steps[] = {0,           1,          -1,        edge - 1, edge,
                                edge + 1,    -edge,      -edge - 1, highest,  lowest,
                                highest - 1, lowest + 1, 7,         -7};
  std::optional<CellState> model;
  int refused = 0;
  for (const std::int64_t first : steps)
    for (const std::int64_t second : steps)
      for (const std::int64_t bound : {highest, edge, std::int64_t{3}}) {
        for (const std::int64_t step : {first, second}) {
          const Add add = by(step, bound == highest ? lowest : -bound, bound);
          const Cell want = stores::add(add, model, 0, 1);
          const Cell got = party.add(add);
          ASSERT_EQ(got.said, want.said) << step << " to " << want.number;
          ASSERT_EQ(got.number, want.number);
          ASSERT_EQ(got.problem.reason, want.problem.reason);
          refused += got.said == Said::no;
        }
        ASSERT_EQ(party.get("cell").number, model ? model->number : 0);
      }
  EXPECT_GT(refused, 100);
}

TEST_F(CellScripts, SwapByVersionAndNeverUseOneTwice) {
  EXPECT_EQ(party.get("cell").version, 0u);
  const Cell made = party.swap({"cell", 0, std::string_view("a\0b", 3), 0ms});
  ASSERT_EQ(made.said, Said::yes);
  EXPECT_EQ(party.swap({"cell", 0, "x", 0ms}).problem.reason, "changed");
  const Cell counted = party.add(by(5));
  EXPECT_EQ(counted.version, made.version + 1);
  EXPECT_EQ(counted.bytes, std::string("a\0b", 3));
  EXPECT_EQ(party.swap({"cell", made.version, "x", 0ms}).said, Said::no);
  EXPECT_EQ(party.swap({"cell", counted.version, "x", 0ms}).number, 5);
  looker.command({"DEL", cell_key("cell")});
  EXPECT_GT(party.swap({"cell", 0, "again", 0ms}).version, counted.version);
}

TEST_F(CellScripts, ExpireFromTheLastChangeOrFromTheFirstOne) {
  const std::string key = cell_key("cell");
  const auto left = [&] { return looker.command({"PTTL", key}).integer; };
  Add add = by(1, 0, 2);
  add.expiry = 60s;
  add.window = true;
  EXPECT_EQ(party.add(add).number, 1);
  looker.command({"PEXPIRE", key, "30000"});
  EXPECT_EQ(party.add(add).number, 2);
  EXPECT_LE(left(), 30'000);
  EXPECT_EQ(party.add(add).problem.reason, "bounds");
  add.window = false;
  add.by = -1;
  EXPECT_EQ(party.add(add).number, 1);
  EXPECT_GT(left(), 30'000);
  EXPECT_EQ(party.add(by(1)).number, 2);
  EXPECT_EQ(left(), -1);
  add.window = true;
  EXPECT_EQ(party.add(add).number, 1);
  EXPECT_GT(left(), 30'000);
}

TEST_F(CellScripts, LeaveForeignKeysAlone) {
  const std::string key = cell_key("cell");
  looker.command({"SET", key, "x"});
  EXPECT_EQ(party.add(by(1)).problem.reason, "foreign");
  looker.command({"DEL", key});
  looker.command({"HSET", key, "n", "1"});
  EXPECT_EQ(party.add(by(1)).problem.reason, "foreign");
  EXPECT_EQ(party.swap({"cell", 0, "x", 0ms}).problem.reason, "foreign");
}

TEST_F(CellScripts, AreRefusedWithoutMemory) {
  looker.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(party.add(by(1)).problem.reason, "out_of_memory");
  EXPECT_EQ(party.add(by(highest)).problem.reason, "out_of_memory");
}

class StringDialect : public CellScripts {
 protected:
  StringDialect() { party.setting().string_dialect = true; }
  static Ask wish(std::uint8_t claim) {
    Ask ask;
    ask.name = "orders/42";
    ask.claim = ClaimId{claim, 0xab};
    ask.ttl = 30s;
    return ask;
  }
};

TEST_F(StringDialect, ContendsWithSetNxPx) {
  EXPECT_EQ(party.ask(wish(1)).said, Said::yes);
  EXPECT_EQ(looker.command({"GET", "orders/42"}).text, "01ab" + std::string(28, '0'));
  EXPECT_EQ(looker.command({"SET", "orders/42", "x", "NX", "PX", "9"}).type,
            support::RedisReply::Type::nil);
  const Answer again = party.ask(wish(1));
  EXPECT_EQ(again.said, Said::yes);
  EXPECT_EQ(again.number, 0u);
  const Answer busy = party.ask(wish(2));
  EXPECT_EQ(busy.problem.reason, "held");
  EXPECT_EQ(busy.holder->who, "");
  EXPECT_GT(busy.holder->ttl_left, 20s);
  EXPECT_EQ(party.describe("orders/42").size(), 1u);

  EXPECT_EQ(party.renew({"orders/42", wish(1).claim, 1, 60s}).ttl, 60s);
  EXPECT_GT(looker.command({"PTTL", "orders/42"}).integer, 50'000);
  EXPECT_EQ(party.renew({"orders/42", wish(2).claim, 1, 60s}).said, Said::gone);
  EXPECT_EQ(party.release({"orders/42", wish(2).claim, false, 0ms}).said, Said::gone);

  Ask instead = wish(3);
  instead.instead = wish(1).claim;
  instead.instead_ttl = 30s;
  EXPECT_EQ(party.ask(instead).said, Said::yes);
  EXPECT_EQ(party.release({"orders/42", wish(3).claim, true, 0ms}).said, Said::yes);
  EXPECT_EQ(looker.command({"EXISTS", "orders/42"}).integer, 0);

  looker.command({"SET", "orders/42", "a peer's", "NX", "PX", "60000"});
  EXPECT_EQ(party.ask(wish(4)).said, Said::no);
  EXPECT_EQ(party.revoke("orders/42", true).said, Said::yes);
  EXPECT_EQ(party.revoke("orders/42", true).said, Said::gone);
}

TEST_F(StringDialect, KeepsQuarantineAndForeignKeys) {
  party.setting().guard = true;
  EXPECT_EQ(party.ask(wish(1)).problem.reason, "quarantine");
  party.setting().guard = false;
  looker.command({"HSET", "orders/42", "field", "x"});
  EXPECT_EQ(party.ask(wish(1)).problem.reason, "foreign");
  EXPECT_EQ(party.renew({"orders/42", wish(1).claim, 1, 60s}).problem.reason, "foreign");
  EXPECT_EQ(party.release({"orders/42", wish(1).claim, false, 0ms}).problem.reason, "foreign");
  EXPECT_TRUE(party.describe("orders/42").empty());
}

}  // namespace
}  // namespace holdfast::stores::redis
