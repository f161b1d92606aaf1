// Goal: what a key says, and how long a lease counts. Needs no server.
#include <gtest/gtest.h>

#include "stores/etcd/keys.hpp"
#include "stores/etcd/leases.hpp"
#include "stores/etcd/options.hpp"
#include "stores/etcd/trouble.hpp"
#include "stores/etcd/wire.hpp"

namespace holdfast::stores::etcd {
namespace {

using namespace std::chrono_literals;

// ── keys ─────────────────────────────────────────────────────────────────────────────────────────

const Layout own(false), dialect(true);

TEST(EtcdKeys, SayWhatTheClaimIs) {
  const std::string name = "a/b%\xff c";
  const std::string prefix = own.prefix(name);
  const std::string key = own.key(prefix, 0xab7);
  EXPECT_EQ(key, "holdfast/1/locks/a%2Fb%25%FF%20c/0000000000000ab7");
  EXPECT_EQ(own.prefix_in({.key = key}), prefix);
  EXPECT_EQ(own.name_in(prefix), name);
  const Standing written{
      .claim = {0xab, 1}, .shape = {Kind::rw, 7, 2}, .revoked = true, .about = "a host, 1 2"};
  const Row row =
      own.read(prefix, {{.key = key, .value = own.write(written), .created = 5, .modified = 6}});
  ASSERT_EQ(row.line.size(), 1U);
  const Standing& read = row.line.front();
  EXPECT_EQ(read.claim, written.claim);
  EXPECT_EQ(read.shape, written.shape);
  EXPECT_TRUE(read.revoked);
  EXPECT_EQ(read.about, written.about);
  EXPECT_EQ(read.created, 5);
  EXPECT_FALSE(row.foreign);
}

TEST(EtcdKeys, OfOthersAreIgnored) {
  const std::string prefix = own.prefix("x");
  for (const char* last : {"", "694d", "0000000000000ab", "zz", "a/b"}) {
    const Row row = own.read(prefix, {{.key = prefix + last, .value = own.write({})}});
    EXPECT_TRUE(row.line.empty());
    EXPECT_FALSE(row.foreign);
  }
}

TEST(EtcdKeys, OfANewerLayoutAreNoticed) {
  const std::string prefix = own.prefix("x");
  const std::string claim(32, '0');
  const std::string start = "1 " + claim + " ", written = start + "rw 7 2 live ";
  const auto is_foreign = [&](const std::string& value) {
    return own.read(prefix, {{.key = own.key(prefix, 1), .value = value}}).foreign;
  };
  EXPECT_FALSE(is_foreign(written));
  EXPECT_TRUE(is_foreign("2" + written.substr(1)));
  for (const std::string end : {"", "lock 1 1 live ", "rw 1 2 live ", "rw 1"})
    EXPECT_TRUE(is_foreign(start + end)) << end;
  for (const char first : {'+', 'g', ' '})
    EXPECT_TRUE(is_foreign("1 " + (first + claim.substr(1)) + " rw 7 2 live ")) << first;
}

TEST(EtcdKeys, ADelayWithoutItsClaimIsOfOneThatDied) {
  const std::string prefix = own.prefix("x");
  const std::string key = own.key(prefix, 1);
  const KeyValue delay{.key = delay_key(key), .value = write_delay(250ms), .lease = 2};
  EXPECT_TRUE(own.read(prefix, {delay}).delayed());
  EXPECT_FALSE(own.read(prefix, {delay, {.key = key, .value = own.write({})}}).delayed());
}

// Without a lease nobody would ever end it.
TEST(EtcdKeys, ADelayWithoutALeaseIsNotOurs) {
  const std::string prefix = own.prefix("x");
  const KeyValue delay{.key = delay_key(own.key(prefix, 1)), .value = write_delay(250ms)};
  EXPECT_FALSE(own.read(prefix, {delay}).delayed());
}

TEST(EtcdKeys, OfTheDialectAreThoseOfEtcdctl) {
  const std::string prefix = dialect.prefix("orders/42");
  EXPECT_EQ(dialect.key(prefix, 0x694d5e), "orders/42/694d5e");
  EXPECT_EQ(dialect.write({}), "");
  EXPECT_EQ(dialect.key_end("orders/42/694d5e"), "");
  const KeyValue peer{.key = "orders/42/1f", .created = 3, .lease = 0x1f};
  EXPECT_EQ(dialect.prefix_in(peer), prefix);
  EXPECT_EQ(dialect.prefix_in({.key = "any/key", .lease = 0x1f}), "");
  EXPECT_EQ(dialect.read(prefix, {peer}).line.front().created, 3);
}

TEST(EtcdKeys, EndWhereTheirPrefixDoes) {
  EXPECT_EQ(end_of("a/"), "a0");
  EXPECT_EQ(end_of("a\xff"), "b");
  EXPECT_EQ(end_of("\xff"), std::string(1, '\0'));
}

// ── leases ───────────────────────────────────────────────────────────────────────────────────────

LeaseKept kept_at(BootTime sent, std::chrono::seconds ttl, std::uint64_t term) {
  LeaseKept kept;
  kept.outcome = Outcome::done;
  kept.sent = sent;
  kept.ttl = ttl;
  kept.term = term;
  return kept;
}

TEST(EtcdLeases, AKeepAliveCountsInItsTermOnly) {
  const BootTime start = BootClock::now();
  Lease lease{.id = 1, .ttl = 30s, .counted = start};
  lease.prove(kept_at(start + 1s, 30s, 7), 8);
  EXPECT_EQ(lease.end(), start + 30s);
  lease.prove(kept_at(start + 1s, 30s, 7), 7);
  EXPECT_EQ(lease.end(), start + 31s);
  lease.prove(kept_at(start + 500ms, 30s, 7), 7);  // It never gets shorter.
  EXPECT_EQ(lease.end(), start + 31s);
  lease.prove({}, 0);
  EXPECT_EQ(lease.end(), start + 31s);
}

TEST(EtcdLeases, AreOfWholeSecondsAndNeverShorterThanAsked) {
  EXPECT_EQ(lease_ttl(29'500ms), 30s);
  EXPECT_EQ(lease_ttl(30s), 30s);
  EXPECT_EQ(lease_ttl(30'001ms), 31s);
}

TEST(EtcdLeases, InThePoolAreForTheirTtlAndNotTooOld) {
  LeasePool pool;
  const BootTime now = BootClock::now();
  pool.give({.id = 1, .ttl = 30s, .counted = now}, 30s, now);
  EXPECT_FALSE(pool.take(31s, now));
  EXPECT_EQ(pool.take(30s, now + 14s)->id, 1);
  EXPECT_FALSE(pool.take(30s, now));
  pool.give({.id = 2, .ttl = 30s, .counted = now}, 30s, now);
  EXPECT_FALSE(pool.take(30s, now + 16s));
}

// ── errors ───────────────────────────────────────────────────────────────────────────────────────

TEST(EtcdTrouble, IsDefiniteOnlyWhereItIs) {
  const auto verdict = [](int code, const char* text) { return judge(code, text, "h:1").verdict; };
  EXPECT_EQ(verdict(14, "failed to connect to all addresses; last error: …"), Verdict::unsent);
  EXPECT_EQ(verdict(14, "Socket closed"), Verdict::elsewhere);
  EXPECT_EQ(verdict(14, "etcdserver: request timed out"), Verdict::elsewhere);
  EXPECT_EQ(verdict(4, "Deadline Exceeded"), Verdict::elsewhere);
  EXPECT_EQ(verdict(8, "etcdserver: mvcc: database space exceeded"), Verdict::refused);
  EXPECT_EQ(verdict(16, "etcdserver: invalid auth token"), Verdict::log_in);
  EXPECT_EQ(judge(7, "etcdserver: permission denied", "h:1").problem.errc, Errc::denied);
  EXPECT_EQ(judge(5, "etcdserver: requested lease not found", "h:1").problem.reason, "lease_gone");
}

// ── the URL ──────────────────────────────────────────────────────────────────────────────────────

TEST(EtcdOptions, NameHostsUserAndDialect) {
  Url url;
  url.scheme = "etcd";
  url.user = "u";
  url.password = "secret";
  url.hosts = {{"h1", 0}, {"::1", 99}};
  Options options;
  Problem problem;
  ASSERT_TRUE(read_options(url, options, problem)) << problem.text;
  EXPECT_EQ(options.addresses, (std::vector<std::string>{"h1:2379", "[::1]:99"}));
  EXPECT_EQ(options.user, "u");
  for (const auto& [word, value] : std::map<std::string, std::string>{
           {"ca", "/a"}, {"insecure", "on"}, {"dialect", "curator"}, {"any", "1"}}) {
    Url wrong = url;
    wrong.options[word] = value;
    EXPECT_FALSE(read_options(wrong, options, problem)) << word;
    EXPECT_EQ(problem.errc, Errc::invalid);
    EXPECT_EQ(problem.text.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace holdfast::stores::etcd
