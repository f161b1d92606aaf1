// Goal: keys, error replies and hostile replies are read as they should be.
// Method: by table, with no server.
#include <gtest/gtest.h>

#include <string>

#include "stores/redis/keys.hpp"
#include "stores/redis/trouble.hpp"
#include "stores/redis/wording.hpp"

namespace holdfast::stores::redis {
namespace {

using Type = Reply::Type;

Reply integer(std::int64_t number) { return {.type = Type::integer, .integer = number}; }
Reply bulk(std::string_view text) { return {.type = Type::bulk, .text = text}; }
Reply error(std::string_view text) { return {.type = Type::error, .text = text}; }
Reply array(std::span<const Reply> items) { return {.type = Type::array, .items = items}; }

TEST(RedisKeys, EncodeWhatWouldMeanSomethingToTheServer) {
  EXPECT_EQ(lock_key("orders/42"), "hf:{orders%2F42}");
  EXPECT_EQ(cell_key("a:b"), "hf:{a:b}:c");
  EXPECT_EQ(lock_key("}{*?[]\\%\n\xff"), "hf:{%7D%7B%2A%3F%5B%5D%5C%25%0A%FF}");
  EXPECT_EQ(lock_pattern("orders/"), "hf:{orders%2F*}");
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  std::string name;
  ASSERT_TRUE(name_of(lock_key(every), name));
  EXPECT_EQ(name, every);
  for (const auto* key : {"hf:{a}:c", "hf:{a", "hf:{%2}", "hf:{%2f}", "hf:{a/b}", "x{a}", ""})
    EXPECT_FALSE(name_of(key, name)) << key;
}

TEST(RedisKeys, FallIntoTheSlotsOfCluster) {
  EXPECT_EQ(slot_of("123456789"), 0x31c3);  // from the specification of Cluster
  EXPECT_EQ(slot_of("foo"), 12182);
  EXPECT_EQ(slot_of("{foo}.x"), 12182);
  EXPECT_EQ(slot_of("x{foo}{bar}"), 12182);
  EXPECT_EQ(slot_of("{}foo"), 9500);
  EXPECT_EQ(slot_of(lock_key("a")), slot_of(cell_key("a")));
  for (std::uint16_t slot = 0; slot < slots; ++slot)
    ASSERT_EQ(slot_of(marker_key(slot)), slot) << marker_key(slot);
}

TEST(RedisTrouble, IsToldInOurWords) {
  const struct {
    std::string_view text;
    Errc errc;
    std::string_view reason;
    Refusal refusal;
  } rows[] = {
      {"NOSCRIPT No matching script. Please use EVAL.", Errc::unavailable, "no_script",
       Refusal::no_script},
      {"BUSY Redis is busy running a script.", Errc::unavailable, "busy_script",
       Refusal::busy_script},
      {"LOADING Redis is loading the dataset in memory", Errc::unavailable, "loading",
       Refusal::loading},
      {"READONLY You can't write against a read only replica. script: 12ab, on @user_script:1.",
       Errc::unavailable, "read_only", Refusal::read_only},
      {"ERR Error running script (call to f_12ab): @user_script:9: @user_script: 9: -READONLY You "
       "can't write against a read only replica.",
       Errc::unavailable, "read_only", Refusal::read_only},
      {"ERR Error running script (call to f_12ab): @user_script:1: WRONGTYPE Operation against a "
       "key holding the wrong kind of value",
       Errc::busy, "foreign", Refusal::other},
      {"MOVED 3999 127.0.0.1:6381", Errc::unavailable, "moved", Refusal::moved},
      {"ASK 3999 127.0.0.1:6381", Errc::unavailable, "moved", Refusal::ask},
      {"TRYAGAIN Multiple keys request during rehashing of slot", Errc::unavailable, "try_again",
       Refusal::try_again},
      {"CLUSTERDOWN The cluster is down", Errc::unavailable, "cluster_down", Refusal::try_again},
      {"MISCONF Redis is configured to save RDB snapshots", Errc::unavailable, "misconf",
       Refusal::other},
      {"OOM command not allowed when used memory > 'maxmemory'.", Errc::unavailable,
       "out_of_memory", Refusal::other},
      {"NOREPLICAS Not enough good replicas to write.", Errc::unavailable, "no_replicas",
       Refusal::other},
      {"NOAUTH Authentication required.", Errc::denied, "authentication", Refusal::other},
      {"WRONGPASS invalid username-password pair or user is disabled.", Errc::denied,
       "authentication", Refusal::other},
      {"NOPERM this user has no permissions to run the 'evalsha' command", Errc::denied,
       "permission", Refusal::other},
      {"ERR The user executing the script can't run this command or subcommand script: 12ab, on "
       "@user_script:27.",
       Errc::denied, "permission", Refusal::other},
      {"ERR Error running script (call to f_12ab): @user_script:27: The user executing the script "
       "can't run this command or subcommand",
       Errc::denied, "permission", Refusal::other},
      {"ERR ACL failure in script: User locks has no permissions to run the 'hset' command script: "
       "12ab, on @user_script:27.",
       Errc::denied, "permission", Refusal::other},
      {"@user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.",
       Errc::unavailable, "out_of_memory", Refusal::other},
      {"ERR max number of clients reached", Errc::unavailable, "max_clients", Refusal::other},
      {"BUSYGROUP is something else", Errc::unavailable, "server_error", Refusal::other},
      {"", Errc::unavailable, "server_error", Refusal::other},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const Problem problem = problem_of(error(row.text));
    EXPECT_EQ(problem.errc, row.errc);
    EXPECT_EQ(problem.reason, row.reason);
    EXPECT_EQ(refusal_of(error(row.text)), row.refusal);
  }
  const auto busy = problem_of(error("BUSY Redis is busy"));
  EXPECT_NE(busy.text.find("SCRIPT KILL"), std::string::npos);
  const auto denied = problem_of(error(rows[15].text));
  EXPECT_NE(denied.text.find("'evalsha'"), std::string::npos) << denied.text;
  const auto hostile = problem_of(error("ERR \x1b[2J\n" + std::string(1 << 20, 'x')));
  EXPECT_LT(hostile.text.size(), 700u);
  EXPECT_EQ(hostile.text.find('\x1b'), std::string::npos);
}

TEST(RedisTrouble, PointsElsewhere) {
  Elsewhere at;
  ASSERT_TRUE(elsewhere_of(error("MOVED 3999 127.0.0.1:6381"), at));
  EXPECT_EQ(at.slot, 3999);
  EXPECT_EQ(at.host, "127.0.0.1");
  EXPECT_EQ(at.port, 6381);
  ASSERT_TRUE(elsewhere_of(error("ASK 1 ::1:7000"), at));
  EXPECT_EQ(at.host, "::1");
  ASSERT_TRUE(elsewhere_of(error("MOVED 1 :7000"), at));
  EXPECT_EQ(at.host, "");
  for (const auto* text : {"MOVED", "MOVED 1", "MOVED x h:1", "MOVED 1 h", "MOVED 1 h:99999",
                           "MOVED 16384 h:1", "MOVED 1 h:"})
    EXPECT_FALSE(elsewhere_of(error(text), at)) << text;
}

TEST(RedisAnswers, OfAnotherShapeAreCorrupt) {
  const Reply holder[] = {bulk("who"), integer(1), integer(2), integer(3),
                          integer(1),  integer(1), integer(0)};
  const Reply held[] = {integer(2), integer(1), bulk("held"), array(holder)};
  ASSERT_EQ(read_ask(array(held), "name").said, Said::no);

  // A good reply is cut after each item, and each item is replaced by another kind.
  for (std::size_t cut = 0; cut < std::size(held); ++cut) {
    EXPECT_EQ(read_ask(array({held, cut}), "name").problem.reason, "protocol");
    for (const Reply& wrong : {Reply{}, integer(-1), integer(1LL << 60), bulk("?"), array({})}) {
      Reply spoiled[std::size(held)];
      std::copy(std::begin(held), std::end(held), spoiled);
      spoiled[cut] = wrong;
      const Answer answer = read_ask(array(spoiled), "name");
      EXPECT_EQ(answer.said, Said::unknown) << cut;
      EXPECT_EQ(answer.problem.errc, Errc::corrupt);
    }
  }
  const std::string huge(40, '\xff');
  for (const Reply& reply : {Reply{}, integer(7), bulk("?"), bulk(huge)}) {
    std::vector<Answer> one(1), two(2);
    EXPECT_EQ(read_ask(reply, "name").said, Said::unknown);
    EXPECT_EQ(read_revoke(reply).said, Said::unknown);
    EXPECT_EQ(read_cell(reply).said, Said::unknown);
    read_renew(reply, one);
    read_release(reply, two);
    EXPECT_EQ(one[0].said, Said::unknown);
    EXPECT_EQ(two[1].said, Said::unknown);
    std::vector<Holder> holders;
    EXPECT_FALSE(read_describe(reply, "name", holders));
    Mark mark;
    EXPECT_FALSE(read_mark(reply, mark));
  }
}

TEST(RedisAnswers, OfAReleaseThatNobodyWasToldOf) {
  std::vector<Answer> answers(2);
  const Reply reply[] = {integer(7), integer(0), integer(3), bulk("silenced")};
  EXPECT_TRUE(read_release(array({reply, 3}), answers));
  EXPECT_FALSE(read_release(array(reply), answers));
  EXPECT_EQ(answers[0].said, Said::yes);
  EXPECT_EQ(answers[1].said, Said::gone);
  const Reply strange[] = {integer(7), integer(0), integer(3), bulk("?")};
  read_release(array(strange), answers);
  EXPECT_EQ(answers[0].said, Said::unknown);
}

TEST(RedisMessages, AreReadOrNone) {
  const std::string good = "g0123456789abcdef12 30000 99 hf:{a%2Fb}";
  Message message;
  ASSERT_TRUE(read_message(good, message));
  EXPECT_EQ(message.name, "a/b");
  EXPECT_EQ(message.answer.number, 12u);
  EXPECT_EQ(message.answer.ttl, Millis(30000));
  EXPECT_EQ(message.answer.store_us, 99);
  EXPECT_TRUE(read_message("x0123456789abcdefhf:{n}", message));
  EXPECT_EQ(message.what, Message::What::gone);
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_FALSE(read_message(good.substr(0, cut), message)) << cut;
  for (const auto* text : {"y0123456789abcdefhf:{n}", "g0123456789abcdef-1 2 3 hf:{n}",
                           "g0123456789abcdef99999999999999999 2 3 hf:{n}", "x0123456789abcdefk"})
    EXPECT_FALSE(read_message(text, message)) << text;
}

}  // namespace
}  // namespace holdfast::stores::redis
