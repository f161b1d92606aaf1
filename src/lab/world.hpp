// lab/world.hpp: true time, the events to come, and the machines on which they happen.
//
// One thread, one seed. Time jumps from event to event; among events at the same moment the seed
// decides which comes first.
#pragma once

#include <functional>
#include <vector>

#include "lab/chance.hpp"
#include "lab/history.hpp"

namespace holdfast::lab {

using core::Nanos;
using Time = Nanos;  // true time, since the world began
using Action = std::function<void()>;

class Machine;

class World {
 public:
  explicit World(std::uint64_t seed) : chance(seed), order_(chance.fork()) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Time now() const noexcept { return now_; }
  void at(Time when, Action action);
  void after(Nanos delay, Action action) { at(now_ + delay, std::move(action)); }
  // Runs until no event is left (returns true) or that time has come (returns false).
  bool run(Time until);
  std::uint64_t steps() const noexcept { return steps_; }

  void tell(Event event) {
    if (before_telling) before_telling();
    event.at = now_.count();
    history.add(event);
  }

  Chance chance;
  History history;
  Action before_telling;  // may add events itself

 private:
  struct Due {
    Time when;
    std::uint64_t tie;
    std::uint64_t number;  // decides if two ties are equal
    Action action;
  };
  static bool later(const Due& a, const Due& b) noexcept;

  Time now_{0};
  Chance order_;
  std::vector<Due> due_;  // a heap
  std::uint64_t numbered_ = 0;
  std::uint64_t steps_ = 0;
};

// Something with its own clock that can pause or die: a client's process or a store's node.
class Machine {
 public:
  explicit Machine(World& world) noexcept : world_(world) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  World& world() const noexcept { return world_; }

  // ── its clocks ──
  BootTime boot() const noexcept;                            // its boot clock's time now
  Nanos wall_ahead() const noexcept { return wall_ahead_; }  // its wall clock less its boot clock
  Time when(
      BootTime shown) const noexcept;  // the true time at which its clock shows that; not past
  void set_rate(
      std::int64_t parts_per_million) noexcept;  // from now on, relative to the rate of true time
  void jump_boot(Nanos by) noexcept;  // a real boot clock never jumps; a store's clock may
  void jump_wall(Nanos by) noexcept;

  // ── its life ──
  bool alive() const noexcept { return alive_; }
  std::uint64_t life() const noexcept { return life_; }  // how often it has died
  bool paused() const noexcept { return paused_; }
  // Runs `action` here; never if the machine dies first, and after the pause if it is paused then.
  void at(Time when, Action action);
  void after(Nanos delay, Action action) { at(world_.now() + delay, std::move(action)); }
  void at_boot(BootTime shown, Action action);  // by its own clock, even if that changes
  void pause() noexcept { paused_ = true; }
  void resume();
  void die() noexcept;  // cancels what was to happen here
  void revive() noexcept { alive_ = true; }

 private:
  void perform(std::uint64_t life, Action action);

  World& world_;
  // The boot clock shows base_ at true time since_, and runs (1 + ppm / 10^6) times as fast.
  BootTime base_{std::chrono::seconds(1000)};
  Time since_{0};
  std::int64_t ppm_ = 0;
  Nanos wall_ahead_{0};
  bool alive_ = true;
  bool paused_ = false;
  std::uint64_t life_ = 0;
  std::vector<Action> held_up_;
};

}  // namespace holdfast::lab
