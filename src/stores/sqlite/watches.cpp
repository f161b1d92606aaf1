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

std::vector<core::Party> Watches::due(BootTime now, BootTime& again) {
  std::vector<core::Party> parties;
  std::lock_guard lock(mutex_);
  if (now >= due_) {
    due_ = BootTime::max();
    for (const Watch& watch : watches_) {
      due_ = std::min(due_, now + pace(watch));
      for (const core::Party& party : watch.parties)  // many wait for the same few
        if (std::ranges::find(parties, party) == parties.end()) parties.push_back(party);
    }
  }
  again = due_;
  return parties;
}

std::vector<std::string> Watches::check(const LiveFile& live, BootTime now, BootTime& again) {
  auto dead = due(now, again);
  std::erase_if(dead, [&](const core::Party& party) { return !live.dead(party); });
  std::vector<std::string> names;
  if (dead.empty()) return names;
  std::lock_guard lock(mutex_);
  std::erase_if(watches_, [&](Watch& watch) {
    if (std::ranges::find_first_of(watch.parties, dead) == watch.parties.end()) return false;
    names.push_back(std::move(watch.name));
    return true;
  });
  return names;
}

}  // namespace holdfast::stores::sqlite
