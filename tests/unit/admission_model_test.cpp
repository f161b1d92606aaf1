// Goal: whatever happens, never too many are let in, no number comes twice, and nobody is
// overtaken. Method: random steps on the line of one name, replayed by seed; each step is checked
// against the rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "core/admission.hpp"

namespace holdfast::core {
namespace {

ClaimId nth(std::uint8_t n) { return ClaimId{n}; }

class Model {
 public:
  explicit Model(std::uint32_t seed) : random_(seed) {}

  void step() {
    now_us_ += pick(4'000'000);
    Notices notices;
    const auto claim = static_cast<std::uint8_t>(1 + pick(20));
    switch (pick(6)) {
      case 0:
      case 1:
      case 2: ask(claim, notices); break;
      case 3:
        line_.release({"n", nth(claim), pick(4) == 0, Millis(6'000)}, now_us_, notices);
        break;
      case 4: line_.renew({"n", nth(claim), 1, Millis(1 + pick(30'000))}, now_us_, notices); break;
      default:
        if (pick(10) == 0) line_.revoke(pick(2) == 0, now_us_, notices);
        if (pick(10) == 0) line_.died({pick(3), 0}, now_us_);
    }
    for (const Notice& notice : notices)
      if (notice.what == Notice::What::granted) minted(notice.number);
    check();
    if (pick(3) == 0) line_.saved();
  }

 private:
  using Place = std::pair<ClaimId, std::int64_t>;

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  void ask(std::uint8_t claim, Notices& notices) {
    Ask ask;
    ask.name = "n";
    ask.claim = nth(claim);
    ask.kind = Kind::semaphore;
    ask.capacity = capacity;
    ask.weight = static_cast<std::uint32_t>(1 + pick(capacity));
    ask.ttl = Millis(1 + pick(30'000));
    ask.lock_delay = Millis(pick(5) == 0 ? pick(10'000) : 0);
    ask.queue = pick(3) != 0;
    if (pick(8) == 0) {
      ask.instead = nth(static_cast<std::uint8_t>(1 + pick(20)));
      ask.instead_ttl = Millis(6'000);
    }
    const bool held = std::ranges::any_of(line_.entries(), [&](const auto& entry) {
      return entry.claim == ask.claim && entry.standing == Admission::Standing::held &&
             entry.expires_us > now_us_ && entry.claim != ask.instead;
    });
    const Answer answer = line_.ask(ask, {pick(3), 0}, now_us_, notices);
    if (answer.said == Said::yes && !held) own_ = answer.number;
  }

  void minted(std::uint64_t number) {
    EXPECT_NE(number, 0u);
    EXPECT_TRUE(minted_.insert(number).second) << "minted twice";
  }

  void check() {
    if (own_) minted(std::exchange(own_, 0));
    std::uint64_t taken = 0;
    std::int64_t last_position = 0;
    for (const auto& entry : line_.entries()) {
      EXPECT_GT(entry.position, last_position);
      last_position = entry.position;
      if (entry.standing == Admission::Standing::held) taken += entry.weight;
    }
    EXPECT_LE(taken, capacity);
    EXPECT_GE(line_.head().number, last_number_);
    EXPECT_EQ(line_.head().number, minted_.size());  // each step of the count is one grant
    last_number_ = line_.head().number;
    order();
  }

  // First come, first served: every granted claim came before all that still wait.
  void order() {
    std::vector<Place> waiting;
    for (const auto& entry : line_.entries())
      if (entry.standing == Admission::Standing::waiting)
        waiting.emplace_back(entry.claim, entry.position);
    for (const auto& entry : line_.entries()) {
      if (entry.standing != Admission::Standing::held) continue;
      const auto was = std::ranges::find(waited_, Place(entry.claim, entry.position));
      if (was == waited_.end()) continue;
      for (auto earlier = waited_.begin(); earlier != was; ++earlier)
        EXPECT_EQ(std::ranges::count(waiting, *earlier), 0) << "overtaken";
    }
    waited_ = waiting;
  }

  static constexpr std::uint32_t capacity = 4;
  std::mt19937 random_;
  Admission line_;
  std::int64_t now_us_ = 0;
  std::uint64_t own_ = 0;
  std::uint64_t last_number_ = 0;
  std::set<std::uint64_t> minted_;
  std::vector<Place> waited_;
};

TEST(AdmissionModel, KeepsItsRulesUnderRandomSteps) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    for (int step = 0; step < 500 && !testing::Test::HasFailure(); ++step) model.step();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace holdfast::core
