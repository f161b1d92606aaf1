// N01 to N07, N12, N13 and N15 of docs/faults.md, between a client and a real Redis server: a
// network that refuses, is silent, loses, or is slow. Exit codes are in command_test.

#include <atomic>
#include <csignal>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "behind_proxy.hpp"
#include "support/evil_server.hpp"
#include "support/redis/left.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisNetwork : public BehindProxy {
 protected:
  // How long the lease still has at the server.
  Millis left_at_server() const {
    const auto all = listed(bob, name);
    return all.empty() ? Millis(0) : all.front().ttl_left.value();
  }
};

TEST_F(RedisNetwork, N01RefusedFromTheStart) {
  proxy.refuse();
  const auto alice = client();
  const auto lease = alice.lock(name).try_acquire();
  ASSERT_TRUE(failed(lease, Errc::unavailable));
  EXPECT_NE(lease.error().message().find(proxy.address()), std::string::npos)
      << lease.error().message();
  EXPECT_TRUE(failed(alice.lock(name).try_acquire_for(300ms), Errc::unavailable));  // Not busy.
  const auto asks = alice.stats().asks;
  auto patient = std::async(std::launch::async, [&] { return alice.lock(name).acquire(); });
  ASSERT_TRUE(eventually([&] { return alice.stats().asks > asks + 2; }));
  EXPECT_EQ(patient.wait_for(0s), std::future_status::timeout);
  jump(StoreOptions{}.patience);
  EXPECT_TRUE(failed(patient.get(), Errc::unavailable));
  EXPECT_EQ(alice.stats().debts, 0U);  // Nothing was sent, so there is nothing to withdraw.
}

TEST_F(RedisNetwork, N01RefusedForAWhile) {
  proxy.refuse();
  const auto alice = open(url()).value();
  auto lease = std::async(std::launch::async, [&] { return alice.lock(name).acquire(); });
  ASSERT_TRUE(eventually([&] { return alice.stats().asks > 2; }));
  proxy.heal();
  EXPECT_TRUE(succeeded(lease.get()));
}

TEST_F(RedisNetwork, N02SilenceFromTheStart) {
  proxy.hold();
  const auto alice = client({.patience = impatient});
  EXPECT_TRUE(failed(alice.lock(name, long_lived).try_acquire_for(600ms), Errc::unavailable));
  EXPECT_TRUE(failed(alice.lock(name, long_lived).acquire(), Errc::unavailable));
  proxy.heal();  // An ask may still be under way; it is withdrawn once it is answered.
  EXPECT_TRUE(succeeded(alice.lock(name + "/2").acquire()));
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
  EXPECT_TRUE(nothing_left_but_marks(server, name));
}

// What was sent into the silence reaches the server after it, when nobody wants it any more.
TEST_F(RedisNetwork, N02SilenceDuringAcquire) {
  const auto alice = connected_client();
  proxy.hold();
  EXPECT_TRUE(failed(alice.lock(name, long_lived).try_acquire_for(600ms), Errc::unavailable));
  EXPECT_GT(alice.stats().debts, 0U);
  proxy.heal();
  EXPECT_TRUE(eventually([&] { return alice.stats().debts == 0; }));
  EXPECT_TRUE(listed(bob, name).empty());
  EXPECT_TRUE(succeeded(bob.lock(name).try_acquire()));
}

TEST_F(RedisNetwork, N03SilenceWhileHeld) {
  const Diary diary;
  const auto alice = client(diary.options());
  auto lease = alice.lock(name, {.margin = 5s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  proxy.hold();
  jump(past_renewal + from_renewal_to_risk);
  ASSERT_TRUE(eventually([&] { return diary.count(name, Event::Kind::at_risk) == 1; }));
  EXPECT_TRUE(lease->valid());
  constexpr Millis almost = 26s;  // the margin has begun
  jump(almost - past_renewal - from_renewal_to_risk);
  clock.set_ahead(almost);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(lease->valid());
  EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));  // So alice knows before bob does.
  clock.set_ahead(past_ttl);
  const auto next = bob.lock(name).acquire();
  EXPECT_TRUE(eventually([&] { return diary.count(name, Event::Kind::lost) == 1; }));
  EXPECT_EQ(diary.count(name, Event::Kind::at_risk), 1);
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  proxy.heal();
  EXPECT_TRUE(next->valid());
  EXPECT_GT(next->token(), lease->token());
}

TEST_F(RedisNetwork, N04SilenceThatEndsInTime) {
  const Diary diary;
  const auto alice = client(diary.options());
  const auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  proxy.hold();
  jump(past_renewal + from_renewal_to_risk);
  ASSERT_TRUE(eventually([&] { return diary.count(name, Event::Kind::at_risk) == 1; }));
  proxy.heal();
  ASSERT_TRUE(eventually([&] { return diary.count(name, Event::Kind::safe) == 1; }));
  ASSERT_TRUE(renews_when_due(alice));
  EXPECT_TRUE(lease->valid());
  EXPECT_EQ(diary.count(name, Event::Kind::at_risk), 1);
  EXPECT_EQ(diary.count(name, Event::Kind::lost), 0);
}

TEST_F(RedisNetwork, N05ReplyOfAcquireIsLost) {
  const auto alice = connected_client();
  proxy.cut(Way::replies, 0, "EVALSHA");
  const auto lease = alice.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_EQ(proxy.counts().cuts, 1);
  EXPECT_EQ(listed(bob, name).size(), 1U);  // Once, and not beside its own orphan.
  EXPECT_EQ(listed(bob, name).front().token, lease->token());
}

TEST_F(RedisNetwork, N05ReplyOfAcquireIsLostAndCountsOnce) {
  const auto alice = connected_client();
  proxy.cut(Way::replies, 0, "EVALSHA");
  const auto two = alice.semaphore(name, 3, long_lived).permits(2).acquire();
  ASSERT_TRUE(succeeded(two));
  EXPECT_EQ(proxy.counts().cuts, 1);
  EXPECT_TRUE(succeeded(bob.semaphore(name, 3).permits(1).try_acquire()));
  EXPECT_TRUE(failed(bob.semaphore(name, 3).permits(2).try_acquire(), Errc::busy));
}

TEST_F(RedisNetwork, N05TryThatGotNoReplyLeavesNothing) {
  const auto alice = connected_client();
  proxy.cut(Way::replies, 0, "EVALSHA");
  EXPECT_TRUE(failed(alice.lock(name, long_lived).try_acquire(), Errc::unavailable));
  EXPECT_TRUE(succeeded(alice.lock(name, long_lived).try_acquire()));  // Not blocked by itself.
  EXPECT_TRUE(nothing_left_but_marks(server, name));
}

TEST_F(RedisNetwork, N06ReplyOfReleaseIsLost) {
  const auto alice = connected_client({.release_deadline = patient});
  auto lease = alice.lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  proxy.cut(Way::replies, 0, "EVALSHA");
  EXPECT_TRUE(succeeded(lease->release()));  // The second request found it done.
  EXPECT_EQ(proxy.counts().cuts, 1);
  EXPECT_TRUE(succeeded(bob.lock(name).try_acquire()));
}

// The server renews it, but we do not hear of it, so we must not count on it.
TEST_F(RedisNetwork, N07RepliesOfRenewalsAreLost) {
  const auto alice = client();
  const auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  proxy.hold(Way::replies);
  clock.set_ahead(past_renewal);
  jump(past_renewal);
  EXPECT_TRUE(eventually([&] { return left_at_server() > lease->left() + 6s; }));
  jump(from_renewal_to_risk + from_risk_to_end);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(lease->valid());
}

TEST_F(RedisNetwork, N07OneLostReplyOfARenewalIsHealedByTheNext) {
  const Diary diary;
  const auto alice = client(diary.options());
  const auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  proxy.cut(Way::replies, 0, "EVALSHA");
  ASSERT_TRUE(renews_when_due(alice));
  EXPECT_EQ(proxy.counts().cuts, 1);
  ASSERT_TRUE(renews_when_due(alice));
  EXPECT_TRUE(lease->valid());
  EXPECT_EQ(diary.count(name, Event::Kind::lost), 0);
}

TEST_F(RedisNetwork, N12DelayShortensTheLease) {
  const auto alice = connected_client({.release_deadline = patient});
  proxy.delay(100ms);
  auto lease = alice.lock(name, {.margin = 1ms}).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_LT(lease->left(), 30s - 200ms);
  EXPECT_LT(lease->left(), left_at_server());
  for (int renewals = 0; renewals < 2; ++renewals) ASSERT_TRUE(renews_when_due(alice));
  EXPECT_TRUE(lease->valid());
  EXPECT_TRUE(succeeded(lease->release()));
}

// The margin is half of the ttl, and half of the ttl has passed when the reply comes. It is still
// read (on a busy machine not always: then there is none).
TEST_F(RedisNetwork, N13ReplyThatComesWhenTheLeaseIsWorthless) {
  const auto alice = connected_client();
  EXPECT_TRUE(eventually([&] {
    proxy.hold(Way::replies);
    auto trying = std::async(std::launch::async,
                             [&] { return alice.lock(name, {.margin = 15s}).try_acquire(); });
    EXPECT_TRUE(eventually([&] { return holding(bob, name) == 1; }));
    jump(15s);
    proxy.heal();
    const auto lease = trying.get();
    EXPECT_TRUE(failed(lease, Errc::unavailable));
    EXPECT_TRUE(nothing_left_but_marks(server, name));
    return !lease && lease.error().reason() == "too_slow";
  }));
}

TEST_F(RedisNetwork, N13DelayLongerThanTheTtl) {
  const auto alice = connected_client();
  proxy.delay(500ms);
  auto trying =
      std::async(std::launch::async, [&] { return alice.lock(name).try_acquire_for(past_ttl); });
  ASSERT_TRUE(eventually([&] { return holding(bob, name) == 1; }));
  jump(past_ttl);
  EXPECT_TRUE(failed(trying.get(), Errc::unavailable));
  proxy.heal();
  EXPECT_TRUE(eventually([&] { return alice.stats().debts == 0; }));
  clock.set_ahead(past_ttl);  // What came too late to be withdrawn ends with its ttl.
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
  EXPECT_TRUE(nothing_left_but_marks(server, name));
}

// Requests pass and replies do not: a holder loses its lease, a waiter does not hear of its grant.
TEST_F(RedisNetwork, N15RepliesAloneAreLost) {
  const std::string other = "the/other";
  const auto alice = client(), carol = client();
  const auto held = alice.lock(name).acquire();
  const auto lost = held->lost();
  auto bobs = bob.lock(other).acquire();
  auto waited =
      std::async(std::launch::async, [&] { return carol.lock(other).try_acquire_for(past_ttl); });
  ASSERT_TRUE(eventually([&] { return waiting(bob, other) == 1; }));
  proxy.hold(Way::replies);
  EXPECT_TRUE(succeeded(bobs->release()));
  EXPECT_TRUE(eventually([&] { return holding(bob, other) == 1; }));  // At the server carol has it.
  jump(past_ttl);
  EXPECT_FALSE(waited.get());
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(held->valid());
  proxy.heal();
  EXPECT_TRUE(nothing_left_but_marks(server, name));
  EXPECT_TRUE(nothing_left_but_marks(server, other));
}

TEST_F(RedisNetwork, N24ServerThatSaysNothing) {
  const EvilServer silent([](const RedisCommand&) { return Say{}; });
  const auto alice = open(silent.url(), {.patience = impatient}).value();
  // All at once, because each of them takes as long as the patience.
  const auto in_vain = [](auto&& call) {
    return std::async(std::launch::async, [=] { EXPECT_TRUE(failed(call(), Errc::unavailable)); });
  };
  for (auto& each : {in_vain([=, this] { return alice.lock(name + "1").try_acquire(); }),
                     in_vain([=, this] { return alice.lock(name + "2").try_acquire_for(600ms); }),
                     in_vain([=, this] { return alice.lock(name + "3").acquire(); }),
                     in_vain([=] { return alice.list(); })})
    each.wait();
  EXPECT_EQ(silent.commands("EVALSHA"), 0);
}

// Half-open for ever: existing connections hear nothing any more, and new ones are served.
TEST_F(RedisNetwork, N24ConnectionThatHasFallenSilent) {
  std::mutex mutex;
  std::set<std::thread::id> connections;  // Each is served by a thread of its own.
  bool silent = false;
  const EvilServer evil(
      [&](const RedisCommand&) -> std::optional<Say> {
        const std::lock_guard guard(mutex);
        if (silent && connections.contains(std::this_thread::get_id())) return Say{};
        if (!silent) connections.insert(std::this_thread::get_id());
        return std::nullopt;
      },
      &server);
  const auto alice = open(evil.url()).value();
  const auto held = alice.lock("held").acquire();
  ASSERT_TRUE(succeeded(held));
  {
    const std::lock_guard guard(mutex);
    silent = true;
  }
  // The shorter the ttl, the sooner it calls a connection silent.
  EXPECT_TRUE(succeeded(alice.lock(name, {.ttl = 6s}).acquire()));
  EXPECT_TRUE(renews_when_due(alice));
  EXPECT_TRUE(held->valid());
}

// A process that writes into a closed connection gets SIGPIPE, unless it asks for none. Here the
// server hangs up again and again on several threads, some of which are still writing.
TEST_F(RedisNetwork, R09NoSignalFromADeadConnection) {
  std::signal(SIGPIPE, SIG_DFL);
  const auto alice = open(server.url()).value();
  std::atomic<bool> enough = false;
  std::vector<std::future<void>> threads;
  for (int each = 0; each < 4; ++each)
    threads.push_back(std::async(std::launch::async, [&, mine = name + std::to_string(each)] {
      while (!enough) EXPECT_TRUE(succeeded(alice.lock(mine, long_lived).acquire()));
    }));
  auto redis = server.client();
  for (int round = 0; round < 200; ++round) {
    redis.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    const auto released = alice.stats().released;
    eventually([&] { return alice.stats().released > released + 4; });
  }
  enough = true;
  for (auto& thread : threads) thread.get();
}

}  // namespace
}  // namespace holdfast
