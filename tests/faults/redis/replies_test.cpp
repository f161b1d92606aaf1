// N08 to N11 of docs/faults.md: replies that are cut, in pieces or late, and requests that arrive
// when nobody waits for them. Most tests stand in for the core, to see each single answer.

#include <future>
#include <mutex>

#include "behind_proxy.hpp"
#include "stores/redis_client.hpp"
#include "support/evil_server.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;
using testing_support::fresh_claim;
using testing_support::RedisStoreClient;

class RedisReplies : public BehindProxy {
 protected:
  // The size of the reply to this request.
  template <class Request>
  std::size_t reply_bytes(Request&& request) {
    connect();
    const auto before = proxy.counts().reply_bytes;
    request();
    return static_cast<std::size_t>(proxy.counts().reply_bytes - before);
  }
  void connect() { ASSERT_NE(carol.ask("to/connect", fresh_claim()).said, Said::unknown); }
  void cut_next(Way way, std::size_t after) {
    connect();
    proxy.cut(way, after, "EVALSHA");
  }
  std::uint64_t number_at_server(const std::string& of) const {
    const auto all = listed(bob, of);
    return all.size() == 1 ? all.front().token.value / 1024 : 0;
  }

  RedisStoreClient carol{url()};
};

TEST_F(RedisReplies, N08ReplyOfAnAskIsCutAfterEachByte) {
  const auto all = reply_bytes([&] { carol.ask("whole", fresh_claim()); });
  ASSERT_GT(all, 40U);
  for (std::size_t bytes = 0; bytes < all; ++bytes) {
    SCOPED_TRACE(bytes);
    const auto each = name + std::to_string(bytes);
    const auto claim = fresh_claim();
    cut_next(Way::replies, bytes);
    EXPECT_EQ(carol.ask(each, claim).said, Said::unknown);
    const auto granted = number_at_server(each);
    const auto again = carol.ask(each, claim);
    EXPECT_EQ(again.said, Said::yes);
    EXPECT_EQ(again.number, granted);  // The same grant, asked for twice.
  }
  EXPECT_EQ(proxy.counts().cuts, static_cast<long>(all));
}

TEST_F(RedisReplies, N08ReplyOfAReleaseIsCutAfterEachByte) {
  const auto first = fresh_claim();
  carol.ask("whole", first);
  const auto all = reply_bytes([&] { carol.release("whole", first); });
  ASSERT_GT(all, 10U);
  for (std::size_t bytes = 0; bytes < all; ++bytes) {
    SCOPED_TRACE(bytes);
    const auto claim = fresh_claim();
    ASSERT_EQ(carol.ask(name, claim).said, Said::yes);
    cut_next(Way::replies, bytes);
    EXPECT_EQ(carol.release(name, claim).said, Said::unknown);
    EXPECT_TRUE(listed(bob, name).empty());
    EXPECT_EQ(carol.release(name, claim).said, Said::gone);
  }
  EXPECT_EQ(proxy.counts().cuts, static_cast<long>(all));
}

TEST_F(RedisReplies, N08ReplyOfARenewalIsCutAfterEachByte) {
  const auto claim = fresh_claim();
  ASSERT_EQ(carol.ask(name, claim).said, Said::yes);
  const auto all = reply_bytes([&] { carol.renew(name, claim); });
  ASSERT_GT(all, 20U);
  for (std::size_t bytes = 0; bytes < all; ++bytes) {
    SCOPED_TRACE(bytes);
    cut_next(Way::replies, bytes);
    EXPECT_EQ(carol.renew(name, claim).said, Said::unknown);
    EXPECT_EQ(carol.renew(name, claim).said, Said::yes);
  }
  EXPECT_EQ(proxy.counts().cuts, static_cast<long>(all));
}

// The other direction: the server does nothing with half a request.
TEST_F(RedisReplies, N08RequestIsCut) {
  for (const std::size_t bytes : {1U, 9U, 100U}) {
    SCOPED_TRACE(bytes);
    const auto claim = fresh_claim();
    cut_next(Way::requests, bytes);
    EXPECT_EQ(carol.ask(name, claim).said, Said::unknown);
    EXPECT_TRUE(listed(bob, name).empty());
  }
}

TEST_F(RedisReplies, N09OneByteAtATime) {
  const auto alice = connected_client({.release_deadline = patient});
  proxy.trickle();
  auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
  ASSERT_TRUE(renews_when_due(alice));
  EXPECT_EQ(number_at_server(name), lease->token().value / 1024);
  EXPECT_TRUE(succeeded(lease->release()));

  auto bobs = bob.lock(name).acquire();
  const auto busy = alice.lock(name).try_acquire();
  ASSERT_TRUE(failed(busy, Errc::busy));
  ASSERT_NE(busy.error().holder(), nullptr);
  EXPECT_EQ(busy.error().holder()->token, bobs->token());
  auto next =
      std::async(std::launch::async, [&] { return alice.lock(name, long_lived).acquire(); });
  ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1; }));
  EXPECT_TRUE(succeeded(bobs->release()));
  EXPECT_TRUE(succeeded(next.get()));  // The message came byte by byte as well.
}

TEST_F(RedisReplies, N09ManyRepliesAtOnce) {
  const auto alice = connected_client();
  const auto taken = bob.lock(name + "3").acquire();
  const auto asks = alice.stats().asks;
  proxy.hold(Way::requests);  // So that the server answers them all in one go.
  std::vector<std::future<Result<Lease>>> leases;
  for (int each = 0; each < 8; ++each)
    leases.push_back(std::async(std::launch::async, [&, each] {
      return alice.lock(name + std::to_string(each), long_lived).try_acquire();
    }));
  ASSERT_TRUE(eventually([&] { return alice.stats().asks == asks + 8; }));
  proxy.heal();
  for (int each = 0; each < 8; ++each) {
    const auto lease = leases[static_cast<std::size_t>(each)].get();
    if (each == 3) {
      EXPECT_TRUE(failed(lease, Errc::busy));
    } else {
      ASSERT_TRUE(succeeded(lease));
      EXPECT_EQ(number_at_server(name + std::to_string(each)), lease->token().value / 1024);
    }
  }
}

// The dangerous case: a grant comes late, when the next ask is for a lock that another holds.
TEST_F(RedisReplies, N10LateReplyIsNotTakenForTheNext) {
  for (const Millis patience : {200ms, 1200ms}) {  // The connection is kept; then given up.
    SCOPED_TRACE(patience.count());
    const auto free = "free/" + std::to_string(patience.count());
    const auto taken = "taken/" + std::to_string(patience.count());
    ASSERT_EQ(carol.ask(taken, fresh_claim()).said, Said::yes);
    proxy.hold(Way::replies);
    const auto wanted = RedisStoreClient::wanting(free, fresh_claim());
    EXPECT_EQ(carol.ask(wanted, patience).said, Said::unknown);
    EXPECT_TRUE(eventually([&] { return holding(bob, free) == 1; }));

    auto next = std::async(std::launch::async, [&] { return carol.ask(taken, fresh_claim()); });
    const auto later = next.wait_for(100ms);
    proxy.heal();
    EXPECT_EQ(later, std::future_status::timeout);
    const auto answer = next.get();
    EXPECT_EQ(answer.said, Said::no) << answer.problem.text;
    EXPECT_EQ(answer.problem.errc, Errc::busy);
  }
}

// ── requests that come late ──────────────────────────────────────────────────────────────────────

// Keeps a script that it receives, and hangs up.
class Kept {
 public:
  void keep_next() {
    const std::lock_guard guard(mutex_);
    keeps_ = true;
  }
  std::optional<RedisCommand> command() const {
    const std::lock_guard guard(mutex_);
    return command_;
  }
  EvilServer server(const RedisServer& behind) {
    return EvilServer(
        [this](const RedisCommand& command) -> std::optional<Say> {
          const std::lock_guard guard(mutex_);
          if (command.front() != "EVALSHA" || !std::exchange(keeps_, false)) return std::nullopt;
          command_ = command;
          return Say{"", 1, true};
        },
        &behind);
  }

 private:
  mutable std::mutex mutex_;
  bool keeps_ = false;
  std::optional<RedisCommand> command_;
};

class RedisLateRequests : public BehindProxy {
 protected:
  // Delivers what was kept; the script has to answer that this claim was withdrawn.
  void deliver_late() {
    ASSERT_TRUE(kept.command());
    const auto reply = server.client().command(*kept.command());
    ASSERT_EQ(reply.type, RedisReply::Type::array);
    EXPECT_EQ(reply[0].integer, static_cast<int>(Said::gone));
    EXPECT_EQ(reply[2].text, "withdrawn");
    EXPECT_TRUE(listed(bob, name).empty());
    EXPECT_TRUE(succeeded(bob.lock(name).try_acquire()));
  }

  Kept kept;
  EvilServer evil = kept.server(server);
  const Store alice = open(evil.url()).value();
};

TEST_F(RedisLateRequests, N11AfterItsWithdrawal) {
  EXPECT_TRUE(succeeded(alice.lock("to/connect").acquire()));
  kept.keep_next();
  EXPECT_TRUE(failed(alice.lock(name, long_lived).try_acquire(), Errc::unavailable));
  ASSERT_TRUE(eventually([&] { return alice.stats().debts == 0; }));
  deliver_late();
}

TEST_F(RedisLateRequests, N11AfterItsRelease) {
  EXPECT_TRUE(succeeded(alice.lock("to/connect").acquire()));
  kept.keep_next();
  auto lease = alice.lock(name, long_lived).acquire();  // Asked for twice.
  ASSERT_TRUE(succeeded(lease));
  EXPECT_TRUE(succeeded(lease->release()));
  deliver_late();
}

}  // namespace
}  // namespace holdfast
