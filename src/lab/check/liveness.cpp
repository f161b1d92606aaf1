// Liveness: after calm, while every waiter would fit beside the holders, one of them gets in within
// the time that a dead holder's lease takes to end; and every caller gets an answer.
#include <set>

#include "core/validity.hpp"
#include "lab/check/account.hpp"

namespace holdfast::lab {
namespace {

using core::Nanos;

// Who waits for one lock and who holds it, updated event by event.
class Watch {
 public:
  Watch(std::uint16_t name, std::int64_t calm, std::int64_t patience, Violations& found)
      : name_(name), free_since_(calm), calm_(calm), patience_(patience), found_(found) {}

  void asks(const Acquire& acquire) {
    waiting_.insert(acquire.weight);
    capacity_ = acquire.capacity;
  }
  void answered(const Acquire& acquire) {
    if (const auto one = waiting_.find(acquire.weight); one != waiting_.end()) waiting_.erase(one);
  }
  void holds(const Acquire& lease) { holders_[key(lease)].insert(lease.op); }
  void ends(const Acquire& lease) {
    const auto held = holders_.find(key(lease));
    if (held != holders_.end() && held->second.erase(lease.op) && held->second.empty())
      holders_.erase(held);
  }
  // Called after every change and at the end; `moved`: a waiter got in or left.
  void look(std::int64_t now, bool moved) {
    const bool open = !waiting_.empty() && held() + *waiting_.rbegin() <= capacity_;
    if (was_open_ && !told_ && now - free_since_ > patience_) {
      told_ = true;
      found_.push_back({Checker::liveness,
                        lock(name_) + ": nobody was let in for " + ms(now - free_since_) +
                            ", though all who waited would have fitted",
                        free_since_ + patience_});
    }
    if (moved || !open || !was_open_) free_since_ = std::max(now, calm_);
    was_open_ = open;
  }

 private:
  using Key = std::pair<std::uint64_t, std::uint32_t>;  // claim (or, without one, token) and weight
  static Key key(const Acquire& lease) {
    return {lease.claim ? lease.claim : lease.token, lease.weight};
  }
  std::uint64_t held() const {
    std::uint64_t sum = 0;
    for (const auto& [holder, ops] : holders_) sum += holder.second;
    return sum;
  }

  std::uint16_t name_;
  std::multiset<std::uint32_t> waiting_;
  std::map<Key, std::set<std::uint64_t>> holders_;
  std::uint64_t capacity_ = 1;
  bool was_open_ = false, told_ = false;
  std::int64_t free_since_, calm_, patience_;
  Violations& found_;
};

struct Step {
  std::int64_t at;
  enum class What : std::uint8_t { ends, asks, refused, holds } what;
  const Acquire* acquire;
};

std::vector<Step> steps_of(const Account& account) {
  std::vector<Step> steps;
  for (const Acquire& one : account.acquires()) {
    steps.push_back({one.asked, Step::What::asks, &one});
    if (!one.leased()) {
      const std::int64_t answered = std::min(one.refused, one.died);
      if (answered != not_yet) steps.push_back({answered, Step::What::refused, &one});
      continue;
    }
    steps.push_back({one.granted, Step::What::holds, &one});
    if (one.ended() != not_yet)
      steps.push_back({std::max(one.ended(), one.granted), Step::What::ends, &one});
  }
  std::ranges::stable_sort(steps, {}, &Step::at);
  return steps;
}

}  // namespace

void check_liveness(const Account& account, const Expectation& expected, Violations& found) {
  if (account.calm() == not_yet) return;
  // Without faults nobody dies, and there is no lost message to heal.
  const bool prompt = !expected.faults && expected.notifies;
  const std::int64_t from = prompt ? 0 : account.calm();
  const Nanos healing =
      core::with_drift(expected.ttl) + core::answer_within(std::chrono::ceil<Millis>(expected.ttl));
  const Nanos patience = expected.lock_delay + expected.grace + (prompt ? Nanos(0) : healing);
  std::map<std::uint16_t, Watch> watches;
  for (const Step& step : steps_of(account)) {
    const Acquire& acquire = *step.acquire;
    Watch& watch = watches.try_emplace(acquire.name, acquire.name, from, patience.count(), found)
                       .first->second;
    const bool moved = step.what == Step::What::holds || step.what == Step::What::refused;
    switch (step.what) {
      case Step::What::asks: watch.asks(acquire); break;
      case Step::What::refused: watch.answered(acquire); break;
      case Step::What::holds:
        watch.answered(acquire);
        watch.holds(acquire);
        break;
      case Step::What::ends: watch.ends(acquire); break;
    }
    watch.look(step.at, moved);
  }
  for (auto& [name, watch] : watches) watch.look(account.end(), false);
  for (const Acquire& acquire : account.acquires())
    if (!acquire.leased() && acquire.done() == not_yet)
      found.push_back({Checker::liveness,
                       lock(acquire.name) + ": " + who(acquire) + " was never answered",
                       acquire.asked});
}

}  // namespace holdfast::lab
