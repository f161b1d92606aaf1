// Goal: the key of a name stays for as long as its last number is needed, and not for a day.
// Method: each step by hand on a real server, whose clock is set; the server itself tells when the
// key ends.
#include <gtest/gtest.h>

#include "core/url.hpp"
#include "redis_talk.hpp"
#include "stores/redis/options.hpp"
#include "support/skewed_clock.hpp"

namespace holdfast::stores::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t whole = 1 << 20;
constexpr Millis usual_keep = 1h;

ClaimId numbered(int n) { return ClaimId{static_cast<std::uint8_t>(n), 0, 7}; }

struct Wanted {
  Millis ttl{30s};
  std::uint32_t weight = whole;
  Millis lock_delay{};
};

class RedisKeeping : public testing::Test {
 protected:
  Ask wish(int claim, const Wanted& wanted = {}) const {
    Ask ask;
    ask.name = name;
    ask.claim = numbered(claim);
    ask.kind = Kind::rw;
    ask.capacity = whole;
    ask.weight = wanted.weight;
    ask.ttl = wanted.ttl;
    ask.lock_delay = wanted.lock_delay;
    ask.queue = true;
    return ask;
  }
  Drop drop(int claim) const { return {name, numbered(claim), false, 30s}; }
  Drop doubtful_drop(int claim, Millis ttl) const { return {name, numbered(claim), true, ttl}; }

  std::int64_t now_us() {
    const auto time = looker.command({"TIME"});
    return std::stoll(time.items[0].text) * 1'000'000 + std::stoll(time.items[1].text);
  }

  // The key is kept for `keep` after something that ended between these two moments.
  testing::AssertionResult kept(std::int64_t from_us, std::int64_t to_us,
                                Millis keep = usual_keep) {
    constexpr std::int64_t rounding_us = 1000;
    const std::int64_t keep_us = std::chrono::microseconds(keep).count();
    const std::int64_t before_us = now_us();
    const std::int64_t left_us = looker.command({"PTTL", lock_key(name)}).integer * 1000;
    const std::int64_t after_us = now_us();
    const bool long_enough = after_us + left_us >= from_us + keep_us - rounding_us;
    const bool too_long = before_us + left_us > to_us + keep_us * 5 / 4 + rounding_us;
    if (long_enough && !too_long) return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << "it is kept for " << (after_us + left_us - from_us) / 1'000'000
           << " s after that, instead of " << keep.count() / 1000;
  }
  // The same for something that ends `later` after this step.
  template <class Step>
  testing::AssertionResult kept_after(Millis later, Step&& step) {
    const std::int64_t later_us = std::chrono::microseconds(later).count();
    const std::int64_t from_us = now_us();
    step();
    return kept(from_us + later_us, now_us() + later_us);
  }

  support::SkewedClock clock;
  support::RedisServer server{{.environment = clock.environment()}};
  support::RedisClient looker = server.client();
  Party party{server.port(), "one"};
  Party other{server.port(), "two"};
  const std::string name = "name";
};

TEST_F(RedisKeeping, EndsAnHourAfterARelease) {
  for (const Millis ttl : {Millis(30s), Millis(1h), Millis(24h * 30)}) {
    ASSERT_EQ(party.ask(wish(1, {.ttl = ttl})).said, Said::yes);
    EXPECT_TRUE(kept_after(0s, [&] { party.release(drop(1)); }));
    ASSERT_EQ(party.ask(wish(1, {.ttl = ttl, .weight = 3})).said, Said::yes);
    ASSERT_EQ(party.ask(wish(2, {.weight = 4})).said, Said::yes);
    party.release(drop(2));
    EXPECT_TRUE(kept_after(0s, [&] { party.release(drop(1)); }));
  }
}

TEST_F(RedisKeeping, EndsAnHourAfterARevocation) {
  ASSERT_EQ(party.ask(wish(1, {.ttl = 24h})).said, Said::yes);
  EXPECT_TRUE(kept_after(0s, [&] { other.revoke(name, true); }));
}

TEST_F(RedisKeeping, EndsAnHourAfterALeaseThatNobodyReleases) {
  const Wanted wanted{.ttl = 24h, .lock_delay = 2h};
  for (const std::uint32_t weight : {whole, whole / 2}) {
    Ask ask = wish(1, wanted);
    ask.weight = weight;
    EXPECT_TRUE(kept_after(26h, [&] { party.ask(ask); }));
    EXPECT_TRUE(kept_after(26h, [&] { party.renew(Keep{name, numbered(1), weight, 24h}); }));
    clock.set_ahead(25h);  // It has ended, and its delay has not.
    EXPECT_EQ(other.ask(wish(2)).said, Said::queued);
    clock.set_ahead(0s);
    looker.command({"FLUSHALL"});
  }
}

// The next in line has asked for a shorter ttl than the one before it.
TEST_F(RedisKeeping, EndsAnHourAfterTheLeaseOfTheLastInLine) {
  ASSERT_EQ(party.ask(wish(1, {.ttl = 24h})).said, Said::yes);
  ASSERT_EQ(other.ask(wish(2)).said, Said::queued);
  EXPECT_TRUE(kept_after(30s, [&] { party.release(drop(1)); }));
  EXPECT_EQ(other.messages().size(), 1u);
}

TEST_F(RedisKeeping, EndsAnHourAfterAMark) {
  EXPECT_TRUE(kept_after(5h, [&] { party.release(doubtful_drop(1, 5h)); }));
  ASSERT_EQ(party.ask(wish(2, {.ttl = 24h})).said, Said::yes);
  EXPECT_TRUE(kept_after(24h, [&] { party.release(doubtful_drop(2, 24h)); }));
  clock.set_ahead(23h);
  EXPECT_EQ(party.ask(wish(2)).said, Said::gone);
}

// As if the server's clock had been set back after the last grant.
TEST_F(RedisKeeping, LastsUntilTheClockHasPassedTheNumber) {
  for (const std::uint32_t weight : {whole, whole / 2}) {
    clock.set_ahead(0s);
    const Answer first = party.ask(wish(1, {.weight = weight}));
    party.release(drop(1));
    clock.set_ahead(-3h);
    const Answer second = party.ask(wish(2, {.weight = weight}));
    EXPECT_EQ(second.number, first.number + 1);
    const auto number_us = static_cast<std::int64_t>(second.number);
    EXPECT_TRUE(kept(number_us, number_us));
    party.release(drop(2));
    EXPECT_TRUE(kept(number_us, number_us));
    clock.set_ahead(0s);
    EXPECT_GT(party.ask(wish(3, {.weight = weight})).number, second.number);
    party.release(drop(3));
  }
}

// With a clock that is not set back, its numbers grow all the same.
TEST_F(RedisKeeping, ForgetsTheNameThen) {
  const Answer first = party.ask(wish(1));
  party.release(drop(1));
  clock.set_ahead(std::chrono::duration_cast<Millis>(usual_keep) * 5 / 4 + 1s);
  EXPECT_EQ(looker.command({"EXISTS", lock_key(name)}).integer, 0);
  EXPECT_GT(party.ask(wish(2)).number, first.number);
}

TEST_F(RedisKeeping, LastsAsTheUrlSays) {
  const auto read = [](const std::string& option, Options& options) {
    Url url;
    Problem problem;
    EXPECT_TRUE(core::parse_url("redis://h?" + option, url, problem)) << problem.text;
    read_options(url, options, problem);
    return problem;
  };
  Options options;
  ASSERT_EQ(read("keep=5m", options).errc, Errc{});
  EXPECT_EQ(options.setting.keep, 5min);
  EXPECT_EQ(Options{}.setting.keep, usual_keep);
  party.setting().keep = options.setting.keep;
  for (const std::uint32_t weight : {whole, whole / 2}) {
    ASSERT_EQ(party.ask(wish(1, {.weight = weight})).said, Said::yes);
    const std::int64_t from_us = now_us();
    party.release(drop(1));
    EXPECT_TRUE(kept(from_us, now_us(), 5min));
  }

  for (const auto* wrong : {"-1", "-1s", "x", "1", "0s", "999ms", "8761h", "99999999999999999999h",
                            "1d", "1.5h", "s"}) {
    const Problem problem = read("keep=" + std::string(wrong), options);
    EXPECT_EQ(problem.errc, Errc::invalid) << wrong;
    EXPECT_NE(problem.text.find("keep"), std::string::npos) << problem.text;
    EXPECT_EQ(problem.text.find('\n'), std::string::npos) << problem.text;
  }
  EXPECT_EQ(read("keep=0s", options).text, "keep is from 1s to 8760h");
  EXPECT_EQ(read("keep=2h&dialect=string", options).errc, Errc::invalid);
}

}  // namespace
}  // namespace holdfast::stores::redis
