// Servers that forget what is held, in whole or in part (S01 to S05, S12): restarts, FLUSHALL, DEL,
// eviction, SCRIPT FLUSH. With guard=on nobody enters while another may still act.
#include <atomic>
#include <thread>
#include <vector>

#include "faults/redis/on_redis.hpp"
#include "support/skewed_clock.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisForgets : public OnRedis {
 protected:
  SkewedClock clock;  // the server's
  RedisServer server{{.environment = clock.environment()}};
  RedisClient redis = server.client();
  const std::string guarded = server.url() + "?guard=on&guard_ttl=40s";
  static constexpr Millis past_quarantine{41'000};
};

// A holder whose events are recorded.
class Owner : public Watched {
 public:
  Owner(const std::string& url, const std::string& name)
      : Watched(url), lease(take(name, {}).value()), name_(name) {}
  std::string why_lost() const { return Watched::why_lost(name_); }
  long count(Event::Kind kind) const { return Watched::count(name_, kind); }
  long waiting() const { return support::waiting(store, name_); }

  Lease lease;

 private:
  const std::string name_;
};

TEST_F(RedisForgets, S01NothingWithItsLogAndTheHolderGoesOn) {
  RedisServer keeping({.appendfsync = "always"});
  Owner alice(keeping.url(), name);
  keeping.restart();
  EXPECT_TRUE(renews_when_due(alice.store));
  EXPECT_TRUE(alice.lease.valid());
  EXPECT_EQ(alice.count(Event::Kind::lost), 0);
  EXPECT_TRUE(failed(open(keeping.url())->lock(name).try_acquire(), Errc::busy));
  EXPECT_TRUE(succeeded(alice.lease.release()));
}

TEST_F(RedisForgets, S02AllAtARestartAndTheHolderIsTold) {
  Owner alice(server.url(), name);
  const auto lost = alice.lease.lost();
  server.restart(RedisServer::Data::gone);
  come_due(alice.store);
  EXPECT_EQ(alice.why_lost(), "gone");
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(alice.lease.valid());
  EXPECT_TRUE(failed(alice.lease.release(), Errc::lost));
  EXPECT_EQ(server.client().command({"EXISTS", key}).integer, 0);  // it was not created again
  const auto next = take_at_once(open(server.url()).value(), name);
  ASSERT_TRUE(succeeded(next));
  EXPECT_GT(next->token(), alice.lease.token());
}

TEST_F(RedisForgets, S02AllAtARestartAndTheGuardKeepsOthersOut) {
  ASSERT_TRUE(succeeded(open(guarded)->init(Init::as_new)));
  Owner alice(guarded, name);
  server.restart(RedisServer::Data::gone);
  const auto bob = open(guarded).value();
  // As long as alice can count on it, and a little longer.
  for (const Millis ahead : {Millis(0), past_ttl}) {
    clock.set_ahead(ahead);
    const auto refused = bob.lock(name).try_acquire();
    ASSERT_TRUE(failed(refused, Errc::unavailable));
    EXPECT_EQ(refused.error().reason(), "quarantine");
  }
  jump(past_ttl);
  clock.set_ahead(past_quarantine);
  const auto next = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(next));
  EXPECT_FALSE(alice.lease.valid());
  EXPECT_TRUE(eventually([&] { return alice.count(Event::Kind::lost) == 1; }));
  EXPECT_GT(next->token(), alice.lease.token());
}

// Five waiters, each with a client of its own. Counts those that were inside together with another
// of them, or with a holder whose lease counts.
class Waiters {
 public:
  Waiters(const std::string& url, const std::string& name, const Lease& holder,
          const LockOptions& options = {}) {
    for (int each = 0; each < count; ++each)
      threads_.emplace_back([=, this, &holder] {
        const auto store = open(url, {.patience = held_long}).value();
        const auto lease = store.lock(name, options).acquire();
        if (!lease) return;
        if (inside_.fetch_add(1) != 0) ++together;
        if (holder.valid()) ++beside_holder;
        tokens_ok_ = tokens_ok_ && lease->token() > holder.token();
        EXPECT_EQ(holding(store, name), 1);
        inside_.fetch_sub(1);
        ++entered;
      });
  }
  void join() { threads_.clear(); }
  bool tokens_grew() const { return tokens_ok_; }

  static constexpr int count = 5;
  std::atomic<int> entered{0}, together{0}, beside_holder{0};

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> tokens_ok_{true};
  std::vector<std::jthread> threads_;
};

// All waiters enter, one after the other.
void expect_all_entered(Waiters& waiters) {
  waiters.join();
  EXPECT_EQ(waiters.entered, Waiters::count);
  EXPECT_EQ(waiters.together, 0);
  EXPECT_TRUE(waiters.tokens_grew());
}

TEST_F(RedisForgets, S03AllByFlushallWithWaitersInLine) {
  const Owner alice(server.url(), name);
  Waiters waiters(server.url(), name, alice.lease);
  ASSERT_TRUE(eventually([&] { return alice.waiting() == Waiters::count; }));
  redis.command({"FLUSHALL"});
  come_due(alice.store);
  EXPECT_EQ(alice.why_lost(), "gone");
  jump(past_asking - past_renewal);
  expect_all_entered(waiters);
  EXPECT_TRUE(nothing_left_but_marks(server, name));
}

TEST_F(RedisForgets, S03AllByFlushallAndTheGuardKeepsWaitersOut) {
  ASSERT_TRUE(succeeded(open(guarded)->init(Init::as_new)));
  const Owner alice(guarded, name);
  // A ttl so short that they ask again within 4 s, before alice does.
  Waiters waiters(guarded, name, alice.lease, {.ttl = 6s});
  ASSERT_TRUE(eventually([&] { return alice.waiting() == Waiters::count; }));
  redis.command({"FLUSHALL"});
  redis.command({"CONFIG", "RESETSTAT"});
  jump(4s);
  EXPECT_TRUE(eventually([&] { return redis.calls()["evalsha"] > 2L * Waiters::count; }));
  EXPECT_TRUE(alice.lease.valid());
  EXPECT_EQ(waiters.entered, 0);
  come_due(alice.store);
  EXPECT_EQ(alice.why_lost(), "gone");
  clock.set_ahead(past_quarantine);
  expect_all_entered(waiters);
  EXPECT_EQ(waiters.beside_holder, 0);
}

// No guard can see it: for up to ttl/3 there may be two holders, and their tokens tell them apart.
TEST_F(RedisForgets, S04OneKeyByAnOperator) {
  Owner alice(server.url(), name);
  redis.command({"DEL", key});
  const auto next = open(server.url())->lock(name).try_acquire();
  ASSERT_TRUE(succeeded(next));
  EXPECT_GT(next->token(), alice.lease.token());
  come_due(alice.store);
  EXPECT_EQ(alice.why_lost(), "gone");
  EXPECT_TRUE(failed(alice.lease.release(), Errc::lost));
  EXPECT_TRUE(next->valid());
}

TEST_F(RedisForgets, S05ScriptsBetweenAnyTwoCalls) {
  const Watched alice(server.url()), bob(server.url());
  ASSERT_TRUE(succeeded(alice.take("to/connect", {})));
  const auto forget = [&] {
    redis.command({"SCRIPT", "FLUSH"});
    redis.command({"CONFIG", "RESETSTAT"});
  };
  const auto sent = [&] {
    auto calls = redis.calls();
    return std::pair(calls["evalsha"], calls["eval"]);
  };
  forget();
  auto lease = alice.take(name, {});
  ASSERT_TRUE(succeeded(lease));
  EXPECT_EQ(sent(), std::pair(1L, 1L));  // refused by its hash, done by its text
  EXPECT_EQ(listed(bob.store, name).size(), 1U);
  redis.command({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(renews_when_due(alice.store));
  redis.command({"SCRIPT", "FLUSH"});
  std::jthread waiter([&] { EXPECT_TRUE(succeeded(bob.store.lock(name).acquire())); });
  ASSERT_TRUE(eventually([&] { return waiting(alice.store, name) == 1; }));
  redis.command({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(succeeded(lease->release()));
  waiter.join();
  EXPECT_EQ(alice.count(name, Event::Kind::lost), 0);
  EXPECT_EQ(alice.count(name, Event::Kind::at_risk), 0);
}

TEST_F(RedisForgets, S12AKeyThatWasEvicted) {
  Owner alice(server.url(), name);
  redis.command({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  redis.command({"CONFIG", "SET", "maxmemory",
                 std::to_string(std::stol(redis.info("memory", "used_memory")) + (1 << 20))});
  const std::string load(64 << 10, 'x');
  for (int each = 0; each < 100 && redis.command({"EXISTS", key}).integer == 1; ++each)
    (void)redis.attempt({"SET", "load" + std::to_string(each), load});
  ASSERT_EQ(redis.command({"EXISTS", key}).integer, 0);
  come_due(alice.store);
  EXPECT_EQ(alice.why_lost(), "gone");

  const auto careful = open(server.url())->lock(name, {.purpose = Purpose::correctness});
  const auto refused = careful.try_acquire();
  EXPECT_TRUE(failed(refused, Errc::unsupported));
  const auto guarantees = open(server.url())->guarantees();
  ASSERT_TRUE(succeeded(guarantees));
  EXPECT_TRUE(std::ranges::any_of(guarantees->because, [](const std::string& fact) {
    return fact.find("volatile-lru: locks may be evicted") != std::string::npos;
  }));
}

}  // namespace
}  // namespace holdfast
