#include "stores/sqlite/watches.hpp"

#include <algorithm>

namespace holdfast::stores::sqlite {
namespace {

using namespace std::chrono_literals;

Millis pace(const Watches::Watch& watch) { return watch.head ? 20ms : 100ms; }

}  // namespace

bool Watches::set(Watch watch) {
  std::lock_guard lock(mutex_);
  std::erase_if(watches_, [&](const Watch& old) { return old.claim == watch.claim; });
  const BootTime due = BootClock::now() + pace(watch);
  const bool earlier = due < due_;
  due_ = std::min(due_, due);
  watches_.push_back(std::move(watch));
  return earlier;
}

void Watches::drop(const ClaimId& claim) noexcept {
  std::lock_guard lock(mutex_);
  std::erase_if(watches_, [&](const Watch& old) { return old.claim == claim; });
}

std::vector<std::string> Watches::check(const LiveFile& live, BootTime now, BootTime& again) {
  std::vector<std::string> died;
  std::lock_guard lock(mutex_);
  if (watches_.empty()) due_ = BootTime::max();
  if (now >= due_) {
    due_ = BootTime::max();
    std::vector<std::pair<core::Party, bool>> judged;  // many wait for the same few
    const auto dead = [&](const core::Party& party) {
      for (const auto& [known, is_dead] : judged)
        if (known == party) return is_dead;
      return judged.emplace_back(party, live.dead(party)).second;
    };
    std::erase_if(watches_, [&](Watch& watch) {
      if (std::any_of(watch.parties.begin(), watch.parties.end(), dead)) {
        died.push_back(std::move(watch.name));
        return true;
      }
      due_ = std::min(due_, now + pace(watch));
      return false;
    });
  }
  again = due_;
  return died;
}

}  // namespace holdfast::stores::sqlite
