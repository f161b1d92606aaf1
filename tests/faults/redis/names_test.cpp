// B02 to B05 and B08 of docs/faults.md: names, labels and prefixes that would hurt a server if
// they were ever taken for commands, patterns or code; seen from inside the server and as
// `holdfast ls --json` prints them.

#include <set>

#include "cli/cli.hpp"
#include "core/text.hpp"
#include "stores/redis/keys.hpp"
#include "support/redis/server.hpp"
#include "support/results.hpp"

namespace holdfast::cli_test {
namespace {

using namespace std::string_literals;
using namespace support;

const std::vector<std::string> nasty = {
    "x\r\nFLUSHALL\r\n",
    "*1\r\n$8\r\nFLUSHALL\r\n",
    "\0"s,
    "a\0b\0"s,
    "\xff\xfe\xc3\x28",
    "\xed\xa0\x80",  // a surrogate
    " \t'\"`\\",
    "*",
    "[^a]?",
    "%s%n%00",
    "%2F",
    "$(reboot)",
    "{a}{b}",
    "}",
    "hf:{x}",
    "hf:guard",
    "\xf0\x9f\x94\x92 caf\xc3\xa9 e\xcc\x81 \xe2\x80\xaegnol",
    "]] redis.call('flushall') --[[",
    "' .. redis.call('FLUSHALL') .. '",
    "\x1b]0;pwned\x07\x1b[2J",
    std::string(251, 'n'),
    std::string(512, '\xff'),
    std::string(512, '}'),
};

class RedisNames : public Cli {
 protected:
  RedisNames() { redis.command({"SET", canary, "alive"}); }
  void nothing_but_our_scripts_ran() {
    EXPECT_EQ(redis.command({"GET", canary}).text, "alive");
    const auto calls = redis.calls();
    EXPECT_FALSE(calls.contains("flushall"));
    EXPECT_FALSE(calls.contains("eval"));
    EXPECT_EQ(cached_scripts(), scripts_at_first);
  }
  std::string cached_scripts() { return redis.info("memory", "number_of_cached_scripts"); }
  std::string connected() {  // All scripts are loaded by then.
    EXPECT_TRUE(alice.list());
    return cached_scripts();
  }

  const std::string canary = "canary";
  RedisServer server;
  RedisClient redis = server.client();
  const Store alice = open(server.url()).value();
  const std::string scripts_at_first = connected();
};

TEST_F(RedisNames, B02ToB05AreBytesAndNothingElse) {
  std::set<std::string> keys = {canary};
  std::vector<Lease> leases;
  const auto bob = open(server.url()).value();
  for (const auto& each : nasty) {
    SCOPED_TRACE(testing::PrintToString(each));
    auto lease = alice.lock(each).try_acquire();
    ASSERT_TRUE(succeeded(lease));
    leases.push_back(std::move(*lease));
    EXPECT_TRUE(failed(bob.lock(each).try_acquire(), Errc::busy));
    EXPECT_EQ(holding(bob, each), 1);
    keys.insert(stores::redis::lock_key(each));
  }
  std::set<std::string> found;
  for (const auto& key : redis.command({"KEYS", "*"}).items) found.insert(key.text);
  EXPECT_EQ(found, keys);
  for (auto& lease : leases) EXPECT_TRUE(succeeded(lease.release()));
  nothing_but_our_scripts_ran();
}

TEST_F(RedisNames, B05ALongerOneDoesNotReachTheServer) {
  redis.command({"CONFIG", "RESETSTAT"});
  for (const std::size_t size : {std::size_t{513}, std::size_t{1} << 16, std::size_t{1} << 20})
    EXPECT_TRUE(failed(alice.lock(std::string(size, 'n')).try_acquire(), Errc::invalid));
  EXPECT_TRUE(failed(alice.lock("").try_acquire(), Errc::invalid));
  EXPECT_FALSE(redis.calls().contains("evalsha"));
}

TEST_F(RedisNames, B08LabelsAndPrefixesAreNoCodeEither) {
  for (const auto& each : nasty) {
    SCOPED_TRACE(testing::PrintToString(each));
    const auto lease = alice.lock("n", {.label = each}).try_acquire();
    ASSERT_TRUE(succeeded(lease));
    EXPECT_EQ(holding(alice, "n"), 1);
  }
  const auto prefixed =
      open(server.url() + "?prefix=%5D%5D%20redis.call(%27flushall%27)%0D%0A*").value();
  EXPECT_TRUE(succeeded(prefixed.lock("n").try_acquire()));
  EXPECT_TRUE(prefixed.list().value().empty());
  nothing_but_our_scripts_ran();
}

// All values of "name_encoded", decoded.
std::multiset<std::string> names_in(const std::string& json) {
  constexpr std::string_view field = "\"name_encoded\":\"";
  std::multiset<std::string> names;
  for (auto at = json.find(field); at != json.npos; at = json.find(field, at)) {
    at += field.size();
    names.insert(core::percent_decoded(json.substr(at, json.find('"', at) - at)).value());
  }
  return names;
}

TEST_F(RedisNames, B02ToB04RoundTripInJson) {
  std::vector<Lease> leases;
  for (const auto& each : nasty) leases.push_back(alice.lock(each).try_acquire().value());
  redis.command({"SET", "hf:{%}", "not of ours"});
  redis.command({"HSET", "hf:{\r\n\x1b[2J}", "s", "nor this"});
  auto planned = plan({"ls", "--json"});
  planned.environment["HOLDFAST_STORE"] = server.url();
  const auto outcome = Running(planned).wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(names_in(outcome.out), std::multiset<std::string>(nasty.begin(), nasty.end()));
  EXPECT_EQ(lines_in(outcome.out), 1U);
  const auto controls = [](char byte) { return static_cast<unsigned char>(byte) < 0x20; };
  EXPECT_EQ(std::ranges::count_if(outcome.out, controls), 1);  // The newline.
  nothing_but_our_scripts_ran();
}

}  // namespace
}  // namespace holdfast::cli_test
