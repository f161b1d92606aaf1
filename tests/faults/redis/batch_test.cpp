// A client renews many leases in one request. What is wrong with one of their keys concerns that
// key alone.
#include <string>
#include <vector>

#include "faults/redis/on_redis.hpp"
#include "stores/redis/keys.hpp"

namespace holdfast {
namespace {

using namespace support;

class RedisBatch : public OnRedis {
 protected:
  static constexpr int many = 50;
  static constexpr int bad = 17;

  static std::string name_of(int place) { return "batch/" + std::to_string(place); }
  static std::string key_of(int place) { return stores::redis::lock_key(name_of(place)); }

  void hold_all() {
    for (int place = 0; place < many; ++place) {
      auto lease = alice.take(name_of(place), {});
      ASSERT_TRUE(succeeded(lease));
      leases.push_back(std::move(*lease));
    }
  }
  // When the renewals are due, all but the bad one are renewed.
  void expect_that_only_the_bad_one_is_not_renewed() {
    jump(past_renewal);
    for (int place = 0; place < many; ++place) {
      SCOPED_TRACE(place);
      if (place == bad) continue;
      EXPECT_TRUE(
          eventually([&] { return alice.count(name_of(place), Event::Kind::renewed) > 0; }));
      EXPECT_TRUE(leases[static_cast<std::size_t>(place)].valid());
      EXPECT_EQ(alice.count(name_of(place), Event::Kind::at_risk), 0);
    }
    EXPECT_EQ(alice.count(name_of(bad), Event::Kind::renewed), 0);
  }

  RedisServer server{{.users = {"locks on >secret ~hf:* &hf:* +@all"}}};
  RedisClient redis = server.client();
  const Watched alice{"redis://locks:secret@" + server.address()};
  std::vector<Lease> leases;
};

TEST_F(RedisBatch, WithoutARightToOneKeyTheOthersAreRenewed) {
  hold_all();
  RedisCommand rules{"ACL", "SETUSER", "locks", "resetkeys"};
  for (int place = 0; place < many; ++place)
    if (place != bad) rules.push_back("~" + key_of(place));
  redis.command(rules);
  expect_that_only_the_bad_one_is_not_renewed();
  jump(from_renewal_to_risk + from_risk_to_end);
  EXPECT_EQ(alice.why_lost(name_of(bad)), "expired");
}

TEST_F(RedisBatch, BesideADamagedValueTheOthersAreRenewed) {
  hold_all();
  const std::string state = redis.command({"HGET", key_of(bad), "s"}).text;
  redis.command({"HSET", key_of(bad), "s", state.substr(0, 40)});
  expect_that_only_the_bad_one_is_not_renewed();
}

TEST_F(RedisBatch, BesideADamagedValueTheOthersAreReleased) {
  hold_all();
  const std::string state = redis.command({"HGET", key_of(bad), "s"}).text;
  redis.command({"HSET", key_of(bad), "s", state.substr(0, 40)});
  leases.clear();
  EXPECT_TRUE(eventually([&] { return alice.store.stats().debts <= 1; }));
  const auto bob = open(server.url()).value();
  for (int place = 0; place < many; ++place) {
    if (place == bad) continue;
    EXPECT_TRUE(succeeded(bob.lock(name_of(place)).try_acquire())) << place;
  }
}

}  // namespace
}  // namespace holdfast
