#include "lab/world.hpp"

#include <algorithm>
#include <utility>

#include "core/teeth.hpp"

namespace holdfast::lab {

bool World::later(const Due& a, const Due& b) noexcept {
  if (a.when != b.when) return a.when > b.when;
  if (a.tie != b.tie) return a.tie > b.tie;
  return a.number > b.number;
}

void World::at(Time when, Action action) {
  due_.push_back({std::max(when, now_), order_.draw(), ++numbered_, std::move(action)});
  std::push_heap(due_.begin(), due_.end(), later);
}

bool World::run(Time until) {
  while (!due_.empty()) {
    if (due_.front().when > until) {
      now_ = std::max(now_, until);
      return false;
    }
    std::pop_heap(due_.begin(), due_.end(), later);
    Due next = std::move(due_.back());
    due_.pop_back();
    now_ = next.when;
    ++steps_;
    next.action();
  }
  return true;
}

// ── machines ────────────────────────────────────────────────────────────────────────────────────

BootTime Machine::boot() const noexcept {
  const Nanos passed = world_.now() - since_;
  return base_ + passed + Nanos(passed.count() / 1'000'000 * ppm_);
}

Time Machine::when(BootTime shown) const noexcept {
  const Nanos ahead = shown - base_;
  if (shown <= boot()) return world_.now();
  // Searches for the first moment at which the clock shows this, because the division below works
  // in steps of a millisecond.
  Time at = since_ + ahead - Nanos(ahead.count() / 1'000'000 * ppm_);
  at = std::max(at, world_.now());
  const auto shows = [&](Time moment) {
    const Nanos passed = moment - since_;
    return base_ + passed + Nanos(passed.count() / 1'000'000 * ppm_);
  };
  while (shows(at) < shown) at += std::max(Nanos(1), Nanos(shown - shows(at)));
  return at;
}

void Machine::set_rate(std::int64_t parts_per_million) noexcept {
  base_ = boot();
  since_ = world_.now();
  ppm_ = parts_per_million;
}

void Machine::jump_boot(Nanos by) noexcept {
  base_ = boot() + by;
  since_ = world_.now();
}

void Machine::jump_wall(Nanos by) noexcept {
  if (core::mutated(core::Mutation::wall_clock)) return jump_boot(by);
  wall_ahead_ += by;
}

void Machine::at(Time when, Action action) {
  world_.at(when, [this, life = life_, action = std::move(action)]() mutable {
    perform(life, std::move(action));
  });
}

void Machine::perform(std::uint64_t life, Action action) {
  if (life != life_ || !alive_) return;
  if (paused_) return held_up_.push_back(std::move(action));
  action();
}

void Machine::at_boot(BootTime shown, Action action) {
  at(when(shown), [this, shown, action = std::move(action)]() mutable {
    if (boot() >= shown) return action();
    at_boot(shown, std::move(action));  // the clock slowed down, or was set back
  });
}

void Machine::resume() {
  if (!std::exchange(paused_, false)) return;
  for (Action& action : std::exchange(held_up_, {})) at(world_.now(), std::move(action));
}

void Machine::die() noexcept {
  alive_ = false;
  paused_ = false;
  ++life_;
  held_up_.clear();
}

}  // namespace holdfast::lab
