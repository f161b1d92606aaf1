// Users whose rights or passwords are wrong, or become wrong (S20, S21), and a tenant that has no
// more than its own part of a server (X10).
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "faults/redis/on_redis.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisUser : public OnRedis {
 protected:
  std::string url(const std::string& password = "secret") const {
    return "redis://locks:" + password + "@" + server.address();
  }
  void allow(const std::vector<std::string>& rules) {
    RedisCommand command{"ACL", "SETUSER", "locks"};
    command.insert(command.end(), rules.begin(), rules.end());
    redis.command(command);
  }
  // How often a login was refused.
  long refused_logins() {
    long count = 0;
    for (const RedisReply& entry : redis.command({"ACL", "LOG", "128"}).items)
      if (entry[3].text == "auth") count += static_cast<long>(entry[1].integer);
    return count;
  }

  RedisServer server{
      {.users = {"locks on >secret ~hf:* resetchannels &hf:* +@all -@dangerous +info"}}};
  RedisClient redis = server.client();
};

TEST_F(RedisUser, S20LosesACommandAndItIsNamed) {
  const Watched alice(url());
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  allow({"-evalsha", "-eval"});
  const auto refused = alice.store.lock("another").acquire();
  EXPECT_TRUE(failed(refused, Errc::denied));
  EXPECT_TRUE(says(refused, "evalsha"));
  const auto outcome = holdfast_on(url(), {"run", "another", "--wait", "5s", "--", "true"});
  EXPECT_EQ(outcome.code, 77) << outcome.err;
  EXPECT_NE(outcome.err.find("evalsha"), std::string::npos) << outcome.err;
  jump(past_renewal);
  ASSERT_TRUE(eventually([&] { return alice.count(name, Event::Kind::at_risk) == 1; }));
  jump(from_renewal_to_risk + from_risk_to_end);
  EXPECT_EQ(alice.why_lost(name), "expired");
  allow({"+evalsha", "+eval"});
  EXPECT_TRUE(succeeded(alice.store.lock("another").acquire()));
}

TEST_F(RedisUser, S20LosesACommandOfTheScripts) {
  const auto alice = open(url()).value();
  ASSERT_TRUE(succeeded(alice.lock("to/connect").acquire()));
  allow({"-hset"});
  const auto refused = alice.lock(name).try_acquire();
  EXPECT_TRUE(failed(refused, Errc::denied));
  EXPECT_TRUE(says(refused, "HSET"));
  EXPECT_EQ(redis.command({"EXISTS", key}).integer, 0);
}

TEST_F(RedisUser, S20LosesItsKeys) {
  const auto alice = open(url()).value();
  ASSERT_TRUE(succeeded(alice.lock("to/connect").acquire()));
  allow({"resetkeys", "~other:*"});
  const auto refused = alice.lock(name).try_acquire();
  EXPECT_TRUE(failed(refused, Errc::denied));
  EXPECT_EQ(refused.error().reason(), "permission");
}

// Nobody can notify the waiter: it asks again and again, and gets it soon. Its user is warned once.
TEST_F(RedisUser, S20MayNotSubscribe) {
  allow({"-subscribe"});
  const Watched watched(url());
  const auto alice = open(url()).value();
  const Store& bob = watched.store;
  auto lease = alice.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_TRUE(failed(bob.lock(name).try_acquire_for(shortly), Errc::busy));
  std::jthread waiter([&] { EXPECT_TRUE(succeeded(bob.lock(name, long_lived).acquire())); });
  ASSERT_TRUE(eventually([&, before = bob.stats().asks] { return bob.stats().asks > before + 3; }));
  EXPECT_EQ(waiting(alice, name), 0);
  EXPECT_TRUE(succeeded(lease->release()));
  waiter.join();
  EXPECT_TRUE(eventually([&] { return watched.count("", Event::Kind::warning) == 1; }));
  EXPECT_NE(watched.diary.of("").front().text.find("SUBSCRIBE"), std::string::npos);
  const auto shown = holdfast_on(url(), {"show", name, "--verbose"});
  EXPECT_NE(shown.out.find("may not listen: waiters ask again"), std::string::npos) << shown.out;
}

TEST_F(RedisUser, S20CommandWarnsThatItMayNotSubscribe) {
  allow({"-subscribe"});
  const auto alice = open(url()).value();
  const auto lease = alice.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto outcome = holdfast_on(url(), {"run", name, "--wait", "1s", "--", "true"});
  EXPECT_EQ(outcome.code, 75) << outcome.err;
  const auto first = outcome.err.find("lacks the right to SUBSCRIBE");
  EXPECT_NE(first, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("SUBSCRIBE", first + 30), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("secret"), std::string::npos) << outcome.err;
}

TEST_F(RedisUser, S20MayNotListenAnyMore) {
  const auto alice = open(url()).value();
  const Watched bob(url(), {.patience = held_long});
  auto lease = alice.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  std::jthread waiter([&] { EXPECT_TRUE(succeeded(bob.take(name, {}))); });
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  allow({"resetchannels"});  // which ends its subscription
  ASSERT_TRUE(eventually([&] { return bob.count("", Event::Kind::warning) == 1; }));
  for (int asks = 0; asks < 4; ++asks) {
    const auto before = bob.store.stats().asks;
    jump(past_asking);
    ASSERT_TRUE(eventually([&] { return bob.store.stats().asks > before; }));
    EXPECT_EQ(holding(bob.store, name), 1);  // Answered after that ask, so no jump cuts it short.
  }
  EXPECT_TRUE(succeeded(lease->release()));
  jump(past_asking);
  waiter.join();
}

// A client that has to wait will have to notify the next one.
TEST_F(RedisUser, S20MayNotPublish) {
  allow({"-publish"});
  const auto alice = open(url()).value(), bob = open(url()).value();
  auto lease = alice.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto refused = bob.lock(name, long_lived).acquire();
  EXPECT_TRUE(failed(refused, Errc::denied));
  EXPECT_TRUE(says(refused, "publish"));
  const auto outcome = holdfast_on(url(), {"run", name, "--wait", "5s", "--", "true"});
  EXPECT_EQ(outcome.code, 77) << outcome.err;
  EXPECT_NE(outcome.err.find("publish"), std::string::npos) << outcome.err;
  const auto shown = holdfast_on(url(), {"show", name, "--verbose"});
  EXPECT_NE(shown.out.find("'publish'"), std::string::npos) << shown.out;
  EXPECT_EQ(waiting(alice, name), 0);
  allow({"+publish"});
  std::jthread waiter([&] { EXPECT_TRUE(succeeded(bob.lock(name, long_lived).acquire())); });
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  EXPECT_TRUE(succeeded(lease->release()));
}

// The release is done nevertheless, and the waiter finds out by asking. The holder never waited
// itself: it is warned, and its next call tells which right it lacks.
TEST_F(RedisUser, S20MayNotPublishAnyMore) {
  const Watched watched(url());
  const Store& alice = watched.store;
  const auto bob = open(url()).value();
  auto lease = alice.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  std::jthread waiter([&] { EXPECT_TRUE(succeeded(bob.lock(name).acquire())); });
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  allow({"-publish"});
  EXPECT_TRUE(succeeded(lease->release()));
  const auto refused = alice.lock("another").try_acquire();
  EXPECT_TRUE(failed(refused, Errc::denied));
  EXPECT_TRUE(says(refused, "publish"));
  EXPECT_TRUE(eventually([&] { return watched.count("", Event::Kind::warning) == 1; }));
  EXPECT_NE(watched.diary.of("").front().text.find("PUBLISH"), std::string::npos);
  jump(past_asking);
  waiter.join();
  allow({"+publish"});
  EXPECT_TRUE(succeeded(alice.lock("another").try_acquire()));
}

// It keeps its place in line, because nobody passed it over: no later client gets in first.
TEST_F(RedisUser, S20WhomNobodyMayTellStaysInLine) {
  const auto alice = open(url()).value(), bob = open(url()).value();
  auto lease = alice.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  std::jthread waiter([&] { EXPECT_TRUE(succeeded(bob.lock(name, long_lived).acquire())); });
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  allow({"-publish"});
  EXPECT_TRUE(succeeded(lease->release()));
  const auto outcome = holdfast_on(url(), {"run", name, "--no-wait", "--", "true"});
  EXPECT_EQ(outcome.code, 77) << outcome.err;
  EXPECT_NE(outcome.err.find("PUBLISH"), std::string::npos) << outcome.err;
  EXPECT_EQ(waiting(alice, name), 1);
  allow({"+publish"});
  const auto next = alice.lock(name).try_acquire();  // notifies the first in line, which gets it
  EXPECT_TRUE(failed(next, Errc::busy));
}

// The user of our documentation, as one of several tenants of the server.
TEST_F(RedisUser, X10ATenantHasItsPrefixAndNothingElse) {
  const std::string command = "redis-cli() { command redis-cli -p " +
                              std::to_string(server.port()) +
                              " \"$@\"; }; . " HOLDFAST_EXAMPLES "/redis_user.sh >/dev/null";
  ASSERT_EQ(std::system(("bash -c '" + command + "'").c_str()), 0);
  allow({"resetkeys", "~hf:{team%2F*"});
  const auto its = url("SECRET") + "?prefix=team/";
  const auto alice = open(its).value(), bob = open(its).value();
  auto lease = alice.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  std::jthread waiter([&] { EXPECT_TRUE(succeeded(bob.lock(name, long_lived).acquire())); });
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  EXPECT_TRUE(succeeded(lease->release()));
  waiter.join();

  const Store other = open(server.url() + "?prefix=other/").value();
  const auto theirs = other.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(theirs));
  for (const std::string prefix : {"other/", "team", "tea", ""}) {
    const auto store = open(url("SECRET") + "?prefix=" + prefix).value();
    const auto refused = store.lock(name).try_acquire();
    EXPECT_TRUE(failed(refused, Errc::denied)) << prefix;
    EXPECT_EQ(refused.error().reason(), "permission") << prefix;
    EXPECT_TRUE(failed(store.revoke(name), Errc::denied)) << prefix;
  }
  EXPECT_TRUE(theirs->valid());
  auto keys = redis.command({"KEYS", "*"}).items;
  std::ranges::sort(keys, {}, &RedisReply::text);
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].text, "hf:{other%2Fthe%2Fname}");
  EXPECT_EQ(keys[1].text, "hf:{team%2Fthe%2Fname}");
}

TEST_F(RedisUser, S21WithAWrongPasswordTriesOnce) {
  const auto outcome = holdfast_on(url("wrong"), {"run", name, "--wait", "10s", "--", "true"});
  EXPECT_EQ(outcome.code, 77) << outcome.err;
  EXPECT_NE(outcome.err.find("password"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("wrong@"), std::string::npos) << outcome.err;
  EXPECT_EQ(refused_logins(), 1);
  redis.command({"ACL", "SETUSER", "default", ">needed"});
  EXPECT_EQ(holdfast_on(server.url(), {"run", name, "--", "true"}).code, 77);  // no password at all
}

TEST_F(RedisUser, S21WhosePasswordWasChanged) {
  const Watched alice(url());
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  // A waiter, so that there are two connections; and a client that asks all the time.
  const auto bob = open(url()).value();
  std::jthread waiter([&] { (void)bob.lock(name).try_acquire_for(15s); });
  ASSERT_TRUE(eventually([&] { return waiting(alice.store, name) == 1; }));
  allow({"resetpass", ">new"});
  redis.command({"CLIENT", "KILL", "USER", "locks"});
  const auto start = BootClock::now();
  long denied = 0;
  std::chrono::duration<double> passed{};
  while ((passed = BootClock::now() - start) < 12s) {
    const auto refused = bob.lock("another").try_acquire();
    denied += !refused && refused.error().errc() == Errc::denied;
    jump(50ms);
  }
  EXPECT_GT(denied, 1);
  jump(past_ttl);
  EXPECT_EQ(alice.why_lost(name), "expired");
  passed = BootClock::now() - start;
  // Two clients, at most one try a second each.
  EXPECT_LE(static_cast<double>(refused_logins()), 2 * (passed.count() + 1));
  EXPECT_GE(refused_logins(), 2);
  allow({">secret"});
  jump(4s);  // longer than it backs off
  EXPECT_TRUE(eventually([&] { return bob.lock("another").try_acquire().has_value(); }));
}

}  // namespace
}  // namespace holdfast
