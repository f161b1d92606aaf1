// Goal: the scripts decide as core::Admission does.
// Method: both take the same random steps. The model's clock is the time that the server stamped on
// its answer, so claims expire in both at once, and every word must agree. Only the numbers differ:
// they must grow alike. The server's clock goes ahead between two steps.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/admission.hpp"
#include "core/validity.hpp"
#include "redis_talk.hpp"
#include "support/skewed_clock.hpp"

namespace holdfast::stores::redis {
namespace {

using namespace std::chrono_literals;

struct Mix {
  const char* what;
  bool unfair;
  bool doubtful;
  int steps_in_a_ttl;  // roughly
  Millis keep = Setting{}.keep;
};

class SameAsAdmission : public testing::TestWithParam<Mix> {
 protected:
  static constexpr std::string_view name = "orders/42";
  static constexpr core::Party somebody{1, 1};
  static constexpr Millis longest_ttl = 30s;

  int pick(int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); }
  // One of ten claims; now and then another claim takes the place of one of them.
  int some_claim() { return generation + pick(10); }
  static ClaimId id(int n) {
    return ClaimId{static_cast<std::uint8_t>(n), static_cast<std::uint8_t>(n >> 8), 0xff};
  }
  Millis some_ttl() { return Millis(1 + pick(static_cast<int>(longest_ttl.count()))); }
  void pass(Millis time) { clock.set_ahead(ahead += time); }

  void ask() {
    static constexpr Kind kinds[] = {Kind::mutex, Kind::rw, Kind::semaphore};
    const int kind = pick(10) == 0 ? pick(3) : shape;
    const int claim = some_claim();
    const std::string who = "who " + std::to_string(claim);
    Ask ask;
    ask.name = name;
    ask.claim = id(claim);
    if (GetParam().doubtful && pick(8) == 0) {
      ask.instead = id(some_claim());
      ask.instead_ttl = some_ttl();
    }
    ask.kind = kinds[kind];
    ask.capacity = kind == 0 ? 1 : kind == 1 ? 1 << 20 : 5;
    ask.weight = kind == 0 || pick(3) == 0 ? ask.capacity : static_cast<std::uint32_t>(1 + pick(3));
    if (pick(40) == 0) ask.weight = pick(2) == 0 ? 0 : ask.capacity + 1;
    ask.ttl = some_ttl();
    ask.lock_delay = pick(6) == 0 ? Millis(1 + pick(10'000)) : 0ms;
    ask.queue = pick(4) != 0;
    ask.fair = !GetParam().unfair || pick(3) != 0;
    ask.about = who;
    same(party.ask(ask), [&](std::int64_t now, core::Notices& notices) {
      return model.ask(ask, somebody, now, notices);
    });
  }
  void renew() {
    const Keep keep{name, id(some_claim()),
                    pick(8) == 0 ? static_cast<std::uint32_t>(pick(4)) : full(), some_ttl()};
    same(party.renew(keep),
         [&](std::int64_t now, core::Notices& notices) { return model.renew(keep, now, notices); });
  }
  void release() {
    const Drop drop{name, id(some_claim()), GetParam().doubtful && pick(6) == 0, some_ttl()};
    same(party.release(drop), [&](std::int64_t now, core::Notices& notices) {
      return model.release(drop, now, notices);
    });
  }
  void revoke() {
    const bool at_once = pick(2) == 0;
    same(party.revoke(name, at_once), [&](std::int64_t store_us, core::Notices& notices) {
      return model.revoke(at_once, store_us, notices);
    });
  }
  std::uint32_t full() const { return shape == 0 ? 1 : shape == 1 ? 1 << 20 : 5; }

  template <class Step>
  void same(const Answer& got, Step&& step) {
    ASSERT_NE(got.store_us, 0) << got.problem.text;
    core::Notices notices;
    const Answer want = step(got.store_us, notices);
    ASSERT_EQ(got.said, want.said) << got.problem.text << " / " << want.problem.text;
    ASSERT_EQ(got.problem.reason, want.problem.reason);
    ASSERT_EQ(got.problem.errc, want.problem.errc);
    if (want.problem.reason == "kind") {
      ASSERT_EQ(got.problem.text, want.problem.text);
    }
    ASSERT_EQ(got.ttl, want.ttl);
    told(notices);
    number(got.number, want.number);
    ASSERT_EQ(got.holder.has_value(), want.holder.has_value());
    if (got.holder) holder(*got.holder, *want.holder);
  }
  void told(const core::Notices& want) {
    const std::vector<Message> got = party.messages();
    ASSERT_EQ(got.size(), want.size());
    for (const auto& notice : want) {
      const auto at = std::find_if(got.begin(), got.end(), [&](const Message& message) {
        const bool is_grant = message.what == Message::What::granted;
        return message.claim == notice.claim &&
               is_grant == (notice.what == core::Notice::What::granted);
      });
      ASSERT_NE(at, got.end());
      EXPECT_EQ(at->name, name);
      if (at->what == Message::What::gone) continue;
      EXPECT_EQ(at->answer.ttl, notice.ttl);
      number(at->answer.number, notice.number);
    }
  }
  void number(std::uint64_t got, std::uint64_t want) {
    ASSERT_EQ(got == 0, want == 0);
    if (got == 0) return;
    const auto [at, fresh] = numbers.emplace(want, got);
    ASSERT_EQ(at->second, got);
    if (!fresh) return;
    if (at != numbers.begin()) {
      ASSERT_LT(std::prev(at)->second, got);
    }
    if (std::next(at) != numbers.end()) {
      ASSERT_GT(std::next(at)->second, got);
    }
  }
  void holder(const Holder& got, const Holder& want) {
    ASSERT_EQ(got.name, want.name);
    ASSERT_EQ(got.waits, want.waits);
    ASSERT_EQ(got.capacity, want.capacity);
    // Of several holders the model names the one that came first, the server the one let in first.
    if (GetParam().unfair && got.who != want.who) return;
    ASSERT_EQ(got.who, want.who);
    ASSERT_EQ(got.weight, want.weight);
    ASSERT_EQ(got.ttl_left, want.ttl_left);
    ASSERT_EQ(got.held_for, want.held_for);
    number(got.token.value / core::turns, want.token.value / core::turns);
  }

  // The key lives on for a while after all that is in it has ended.
  void outlives_its_content() {
    const Millis left(party.talk().command({"PTTL", lock_key(name)}).integer);
    const Reply& time = party.talk().command({"TIME"});
    const std::int64_t now_us =
        std::stoll(std::string(time[0].text)) * 1'000'000 + std::stoll(std::string(time[1].text));
    const auto in_us = [](Millis span) { return std::chrono::microseconds(span).count(); };
    for (const core::Admission::Entry& entry : model.entries()) {
      const bool held = entry.standing == core::Admission::Standing::held;
      const std::int64_t ends_us = entry.expires_us + (held ? entry.lock_delay_us : 0);
      ASSERT_GE(now_us + in_us(left) + 1000, ends_us + in_us(GetParam().keep));
    }
  }

  std::mt19937 random;
  support::SkewedClock clock;
  Millis ahead{0};
  support::RedisServer server{{.environment = clock.environment()}};
  Party party{server.port(), "listening"};
  core::Admission model;
  std::map<std::uint64_t, std::uint64_t> numbers;  // the model's, and the server's
  int generation = 0;
  int shape = 0;
};

TEST_P(SameAsAdmission, OverRandomSteps) {
  party.setting().keep = GetParam().keep;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    random.seed(seed);
    for (int step = 0; step < support::scaled(4000); ++step) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
      pass(Millis(pick(2 * static_cast<int>(longest_ttl.count()) / GetParam().steps_in_a_ttl)));
      if (pick(40) == 0) ++generation;
      if (pick(100) == 0) shape = pick(3);
      const int what = pick(100);
      what < 45 ? ask() : what < 60 ? renew() : what < 97 ? release() : revoke();
      if (step % 10 == 0) outlives_its_content();
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(numbers.size(), static_cast<std::size_t>(support::scaled(200)));

  // Nothing is left but the last number, once all of it is over.
  pass(2 * longest_ttl);
  party.release(Drop{name, id(0), false, 0ms});
  if (GetParam().keep < 2 * longest_ttl) {
    EXPECT_EQ(party.talk().command({"EXISTS", lock_key(name)}).integer, 0);
    return;
  }
  EXPECT_EQ(party.talk().command({"HSTRLEN", lock_key(name), "s"}).integer, 32);
  EXPECT_EQ(party.talk().command({"HLEN", lock_key(name)}).integer, 1);
  EXPECT_GT(party.talk().command({"PTTL", lock_key(name)}).integer, 0);
}

INSTANTIATE_TEST_SUITE_P(Mixes, SameAsAdmission,
                         testing::Values(Mix{"plain_and_slow", false, false, 3000},
                                         Mix{"plain_and_short", false, false, 50},
                                         Mix{"doubtful_and_slow", false, true, 3000},
                                         Mix{"doubtful_and_short", false, true, 50},
                                         Mix{"unfair_and_slow", true, false, 3000},
                                         Mix{"unfair_and_short", true, true, 50},
                                         Mix{"soon_forgotten", false, true, 50, 1s}),
                         [](const auto& mix) { return std::string(mix.param.what); });

}  // namespace
}  // namespace holdfast::stores::redis
