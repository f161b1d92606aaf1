// Goal: a Redis store finds who holds what among all keys of a server, and a user with only the
// documented rights can do everything.
// Method: real servers; directly against the backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "stores/redis_client.hpp"
#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/redis/cluster.hpp"
#include "support/redis/server.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace testing_support;
using support::RedisServer;

std::vector<std::string> names_of(const Listing& listing) {
  EXPECT_EQ(listing.problem.errc, Errc{}) << listing.problem.text;
  std::vector<std::string> names;
  for (const Holder& holder : listing.holders) names.push_back(holder.name);
  std::ranges::sort(names);
  return names;
}

// The ttl is long, because nobody renews it and taking thousands takes a while.
Answer take(Client& client, const std::string& name, const ClaimId& claim = fresh_claim()) {
  return client.ask(name, claim, false, support::held_long);
}

TEST(RedisList, FindsWhatIsHeldAmongThousands) {
  const RedisServer server;
  RedisStoreClient client(server.url());
  std::vector<std::string> held;
  for (int i = 0; i < support::scaled(6000); ++i) {
    const std::string name = "many/" + std::to_string(i);
    const ClaimId claim = fresh_claim();
    ASSERT_EQ(take(client, name, claim).said, Said::yes);
    if (i % 5 == 0) {
      held.push_back(name);
    } else {
      ASSERT_EQ(client.release(name, claim).said, Said::yes);
    }
  }
  ASSERT_EQ(client.ask("other", fresh_claim()).said, Said::yes);
  std::ranges::sort(held);
  EXPECT_EQ(names_of(client.list("many/")), held);
  EXPECT_EQ(names_of(client.list("other")), std::vector<std::string>{"other"});
  EXPECT_EQ(client.list().holders.size(), held.size() + 1);
}

// Goes by pages, and keeps next to nothing in memory of foreign keys and of names that are kept for
// their numbers.
TEST(RedisList, B19GoesThroughHundredsOfThousandsOfKeysByPages) {
  constexpr int held = 3;
  const int foreign = support::scaled(200'000), released = support::scaled(20'000);
  const RedisServer server;
  RedisStoreClient client(server.url());
  for (int i = 0; i < held; ++i)
    ASSERT_EQ(take(client, "held/" + std::to_string(i)).said, Said::yes);
  const ClaimId claim = fresh_claim();
  ASSERT_EQ(take(client, "free", claim).said, Said::yes);
  ASSERT_EQ(client.release("free", claim).said, Said::yes);
  auto looker = server.client();
  const char* const make_keys =
      "for i = 1, ARGV[1] do redis.call('SET', 'foreign/' .. i, 'x') end "
      "for i = 1, ARGV[2] do redis.call('COPY', KEYS[1], "
      "'hf:{' .. string.rep('n', 300) .. i .. '}') end";
  looker.command(
      {"EVAL", make_keys, "1", "hf:{free}", std::to_string(foreign), std::to_string(released)});
  ASSERT_EQ(names_of(client.list("held/")).size(), std::size_t{held});  // Connects and warms up.
  looker.command({"CONFIG", "RESETSTAT"});
  const long before = support::own_status("VmRSS");
  EXPECT_EQ(names_of(client.list()), (std::vector<std::string>{"held/0", "held/1", "held/2"}));
  const long grown_kb = support::own_status("VmRSS") - before;
  auto calls = looker.calls();
  EXPECT_GE(calls["scan"], (foreign + released) / 1000);
  EXPECT_FALSE(calls.contains("keys"));
  if (!support::sanitized) {
    EXPECT_LT(grown_kb, 2048);  // The names alone are 6 MB.
  }
}

TEST(RedisList, ManyThreadsOfOneStoreAtOnce) {
  const RedisServer server;
  RedisStoreClient client(server.url());
  std::vector<std::string> held;
  for (int i = 0; i < support::scaled(3000); ++i) {
    held.push_back(std::to_string(i));
    ASSERT_EQ(take(client, held.back()).said, Said::yes);
  }
  std::ranges::sort(held);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) EXPECT_EQ(names_of(client.list()), held);
    });
}

TEST(RedisList, LooksThroughAllNodesOfACluster) {
  support::RedisCluster cluster;
  RedisStoreClient client(cluster.url());
  std::vector<std::string> held;
  for (int i = 0; i < support::scaled(2000); ++i) {
    held.push_back("many/" + std::to_string(i));
    ASSERT_EQ(take(client, held.back()).said, Said::yes);
  }
  std::ranges::sort(held);
  RedisStoreClient fresh(cluster.url());  // which knows no node yet
  EXPECT_EQ(names_of(fresh.list("many/")), held);
}

TEST(RedisList, LastsForAsLongAsItsPagesAreAnswered) {
  const RedisServer server;
  RedisStoreClient client(server.url());
  server.client().command({"EVAL",
                           "for i = 1, 2000 do redis.call('HSET', 'hf:{' .. i .. '}', 's', "
                           "'h\\1\\0') end",
                           "0"});
  ASSERT_EQ(take(client, "held").said, Said::yes);
  EXPECT_EQ(names_of(client.list_slowly()), std::vector<std::string>{"held"});
}

TEST(RedisList, APrefixIsNoPattern) {
  const RedisServer server;
  for (const auto* dialect : {"", "?dialect=string"}) {
    SCOPED_TRACE(dialect);
    RedisStoreClient client(server.url() + dialect);
    for (const auto* name : {"a*b", "axb", "a[x]b", "a\\b", "a?b", "ünï"})
      ASSERT_EQ(client.ask(name, fresh_claim()).said, Said::yes);
    EXPECT_EQ(names_of(client.list("a*")), std::vector<std::string>{"a*b"});
    EXPECT_EQ(names_of(client.list("a[x")), std::vector<std::string>{"a[x]b"});
    EXPECT_EQ(names_of(client.list("a\\")), std::vector<std::string>{"a\\b"});
    EXPECT_EQ(names_of(client.list("a?")), std::vector<std::string>{"a?b"});
    EXPECT_EQ(names_of(client.list("ü")), std::vector<std::string>{"ünï"});
  }
}

TEST(RedisList, TellsOfThoseInLineAndOfNoCell) {
  const RedisServer server;
  RedisStoreClient holder(server.url()), waiter(server.url());
  ASSERT_EQ(holder.ask("n", fresh_claim()).said, Said::yes);
  ASSERT_EQ(waiter.ask("n", fresh_claim(), true).said, Said::queued);
  ASSERT_EQ(holder.add({.name = "n", .by = 1, .least = 0, .most = 9}).said, Said::yes);
  const Listing listing = holder.list();
  ASSERT_EQ(listing.holders.size(), 2u);
  EXPECT_FALSE(listing.holders[0].waits);
  EXPECT_TRUE(listing.holders[1].waits);
  EXPECT_EQ(listing.holders[0].who, "a test");
}

TEST(RedisList, OfTheStringDialectNamesTheKeysOfOthersToo) {
  RedisServer server;
  RedisStoreClient client(server.url() + "?dialect=string");
  ASSERT_EQ(client.ask("lock:ours", fresh_claim()).said, Said::yes);
  auto other = server.client();
  other.command({"SET", "lock:theirs", "a3f1", "PX", "60000"});
  other.command({"HSET", "lock:no", "field", "value"});
  EXPECT_EQ(names_of(client.list("lock:")), (std::vector<std::string>{"lock:ours", "lock:theirs"}));
}

TEST(RedisDescribe, KeysThatAreNotOursAreHeldByNobody) {
  RedisServer server;
  RedisStoreClient client(server.url());
  auto other = server.client();
  const std::vector<support::RedisCommand> makers = {{"SET", "hf:{string}", "theirs"},
                                                     {"SET", "hf:{state}", "h\1\1"},
                                                     {"RPUSH", "hf:{list}", "theirs"},
                                                     {"HSET", "hf:{hash}", "field", "theirs"},
                                                     {"HSET", "hf:{damaged}", "s", "h\1\1mend me"}};
  for (const auto& maker : makers) {
    other.command(maker);
    const std::string name = maker[1].substr(4, maker[1].size() - 5);
    EXPECT_EQ(names_of(client.describe(name)), std::vector<std::string>()) << name;
    EXPECT_EQ(names_of(client.list(name)), std::vector<std::string>()) << name;
  }
}

TEST(RedisDescribe, FindsANameOnWhicheverNodeOfACluster) {
  support::RedisCluster cluster;
  RedisStoreClient client(cluster.url());
  for (int i = 0; i < 20; ++i) {
    const std::string name = std::to_string(i);
    ASSERT_EQ(take(client, name).said, Said::yes);
    RedisStoreClient fresh(cluster.url());  // which knows no node yet
    EXPECT_EQ(names_of(fresh.describe(name)), std::vector<std::string>{name});
    EXPECT_EQ(names_of(client.describe(name + "/free")), std::vector<std::string>());
  }
}

TEST(RedisDescribe, OfTheStringDialectTellsOfTheKeysOfOthersToo) {
  RedisServer server;
  RedisStoreClient client(server.url() + "?dialect=string");
  ASSERT_EQ(client.ask("ours", fresh_claim()).said, Said::yes);
  auto other = server.client();
  other.command({"SET", "theirs", "a3f1", "PX", "60000"});
  other.command({"HSET", "none", "field", "value"});
  EXPECT_EQ(names_of(client.describe("ours")), std::vector<std::string>{"ours"});
  EXPECT_EQ(names_of(client.describe("theirs")), std::vector<std::string>{"theirs"});
  EXPECT_EQ(names_of(client.describe("none")), std::vector<std::string>());
}

TEST(RedisList, AServerThatDoesNotAnswerIsAProblemByTheDeadline) {
  RedisServer server;
  RedisStoreClient client(server.url());
  ASSERT_EQ(client.ask("n", fresh_claim()).said, Said::yes);
  server.stop();
  Recorded<Listing> call(300ms);
  client.backend().list({}, call);
  client.backend().help(&call, BootClock::now() + 20s, -1);
  server.resume();
  ASSERT_TRUE(call.finished());
  EXPECT_EQ(call.value.problem.errc, Errc::unavailable);
}

// ── the rights that it needs ─────────────────────────────────────────────────────────────────────

TEST(RedisUser, OfTheDocumentationIsEnough) {
  RedisServer server;
  const std::string port = std::to_string(server.port());
  const std::string command = "redis-cli() { command redis-cli -p " + port + " \"$@\"; }; . " +
                              HOLDFAST_EXAMPLES "/redis_user.sh >/dev/null";
  ASSERT_EQ(std::system(("bash -c '" + command + "'").c_str()), 0);
  const std::string url = "redis://locks:SECRET@127.0.0.1:" + port;
  RedisStoreClient holder(url + "/1?guard=on"), waiter(url + "/1?guard=on");
  ASSERT_EQ(RedisStoreClient(server.url() + "/1?guard=on").init(Init::as_new).said, Said::yes);
  const ClaimId first = fresh_claim(), second = fresh_claim();
  server.client().command({"SCRIPT", "FLUSH"});
  ASSERT_EQ(holder.ask("n", first).said, Said::yes);
  ASSERT_EQ(waiter.ask("n", second, true).said, Said::queued);
  EXPECT_EQ(holder.renew("n", first).said, Said::yes);
  EXPECT_EQ(names_of(holder.list()), (std::vector<std::string>{"n", "n"}));
  EXPECT_EQ(holder.release("n", first).said, Said::yes);
  EXPECT_TRUE(waiter.stay_until([&] { return waiter.hints.grants().size() == 1; }));
  EXPECT_EQ(holder.revoke("n", false).said, Said::yes);
  EXPECT_EQ(waiter.release("n", second, true).said, Said::yes);
  EXPECT_EQ(holder.add({.name = "c", .by = 1, .least = 0, .most = 9, .expiry = 9s}).said,
            Said::yes);
  EXPECT_EQ(holder.add({.name = "c", .by = 1, .least = 0, .most = 9}).said, Said::yes);
  EXPECT_EQ(holder.swap({.name = "s", .bytes = "v"}).said, Said::yes);
  EXPECT_EQ(holder.get("s").bytes, "v");
  EXPECT_EQ(holder.guarantees().guarantees.purpose, Purpose::correctness);  // thanks to the guard
  auto looking = server.client();
  for (const auto& entry : looking.command({"ACL", "LOG"}).items)
    EXPECT_TRUE(entry[7].text.starts_with("config")) << entry[7].text << " was refused";
}

}  // namespace
}  // namespace holdfast
