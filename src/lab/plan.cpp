#include "lab/plan.hpp"

#include "core/teeth.hpp"

namespace holdfast::lab {
namespace {

constexpr std::int64_t most_drift = 5000;  // two such clocks agree within 1 %

// A little less or more than a twelfth, a third, one or three of the ttl.
Nanos telling_length(Nanos ttl, Chance& chance) {
  static constexpr std::int64_t twelfths[] = {1, 4, 12, 36};
  const Nanos around = ttl * twelfths[chance.below(4)] / 12;
  const Nanos off = ttl / 20;
  return chance.between(around - std::min(off, around), around + off);
}

std::int64_t rate(Chance& chance) {
  switch (chance.below(4)) {
    case 0: return 0;
    case 1: return most_drift;
    case 2: return -most_drift;
    default: return static_cast<std::int64_t>(chance.below(2 * most_drift + 1)) - most_drift;
  }
}

void plan_locks(Plan& plan, Chance& chance) {
  static constexpr Millis ttls[] = {Millis(1000), Millis(3000), Millis(10'000)};
  const Millis ttl = ttls[chance.below(3)];
  const std::size_t count = 1 + chance.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    LockPlan lock;
    lock.ttl = ttl;
    const std::uint64_t kind = chance.below(4);
    if (kind == 2) {
      lock.kind = Kind::semaphore;
      lock.capacity = static_cast<std::uint32_t>(2 + chance.below(3));
    } else if (kind == 3) {
      lock.kind = Kind::rw;
      lock.capacity = 1 << 20;
    }
    if (chance.percent(20)) lock.lock_delay = Millis(100 + chance.below(1000));
    plan.locks.push_back(lock);
  }
}

void plan_store(Plan& plan, Chance& chance) {
  StorePlan& store = plan.store;
  const std::uint64_t pick = chance.below(100);
  store.shape = pick < 55   ? Shape::single
                : pick < 65 ? Shape::sharded
                : pick < 80 ? Shape::replicated
                            : Shape::consensus;
  static constexpr Memory memories[] = {Memory::kept, Memory::kept, Memory::lost,
                                        Memory::tail_lost};
  store.memory = memories[chance.below(4)];
  store.guard = chance.percent(70);
  store.notifies = !chance.percent(15);
  store.hears = !chance.percent(20);
  store.guard_ttl = plan.locks[0].ttl + plan.locks[0].ttl / 50;
  store.session = plan.locks[0].ttl;
  const std::uint64_t several = 2 + chance.below(2);
  const std::uint64_t nodes = store.shape == Shape::single       ? 1
                              : store.shape == Shape::replicated ? 2
                              : store.shape == Shape::consensus  ? 3
                                                                 : several;
  for (std::uint64_t i = 0; i < nodes; ++i) store.rates.push_back(rate(chance));
}

void plan_habit(Plan& plan, Chance& chance) {
  HabitPlan& habit = plan.habit;
  const auto sometimes = [&](unsigned odds) { return chance.percent(40) ? odds : 0; };
  habit.threads = chance.percent(50);
  habit.rounds = static_cast<unsigned>(5 + chance.below(12));
  habit.think = chance.percent(50) ? Nanos(Millis(5)) : Nanos(Millis(500));
  habit.work = chance.percent(50) ? Nanos(Millis(3)) : Nanos(Millis(100));
  habit.long_work = sometimes(10);
  habit.tries = sometimes(30);
  habit.timeouts = sometimes(40);
  habit.cancels = sometimes(30);
  habit.reentries = sometimes(50);
  habit.at_most = sometimes(20);
  habit.unfair = sometimes(30);
}

void plan_noise(Plan& plan, Chance& chance) {
  NoisePlan& noise = plan.noise;
  noise.latest = std::min<Nanos>(Nanos(plan.locks[0].ttl) * 2 / 5, Millis(4000));
  if (chance.percent(20)) return;
  noise.lost_requests = static_cast<unsigned>(chance.below(10));
  noise.lost_replies = static_cast<unsigned>(chance.below(10));
  noise.lost_messages = static_cast<unsigned>(chance.below(20));
  noise.late = static_cast<unsigned>(chance.below(8));
}

Fault plan_fault(const Plan& plan, Chance& chance) {
  using enum Fault::Kind;
  const Nanos ttl = plan.locks[0].ttl;
  Fault fault;
  fault.at = chance.up_to(plan.end);
  fault.length = telling_length(ttl, chance);
  const auto process = static_cast<std::int16_t>(chance.below(plan.processes()));
  const auto node = static_cast<std::int16_t>(chance.below(plan.nodes()));
  const bool replicated = plan.store.shape == Shape::replicated;
  const std::uint64_t kind = chance.below(100);
  const std::uint64_t detail = chance.draw();
  if (kind < 30) {
    fault.kind = pause;
    fault.process = process;
    fault.where = static_cast<Where>(detail % 4);
  } else if (kind < 38) {
    fault.kind = crash;
    fault.process = process;
  } else if (kind < 58) {
    fault.kind = cut;
    fault.process = process;
    fault.node = detail % 2 == 0 ? node : nobody;
    fault.there = detail / 2 % 3 != 0;
    fault.back = detail / 2 % 3 != 1;
  } else if (kind < 64) {
    fault.kind = pause;
    fault.node = node;
  } else if (kind < 74) {
    fault.kind = replicated ? failover : crash;
    fault.node = node;
    fault.length = fault.length / 4;
  } else if (kind < 78) {
    fault.kind = plan.store.shape == Shape::consensus ? isolate : forget;
    fault.node = node;
  } else if (kind < 84) {
    fault.kind = jump_wall;
    fault.process = process;
    fault.amount = (detail % 2 == 0 ? -2 : 2) * ttl.count();
  } else if (kind < 88) {
    fault.kind = drift;
    fault.process = process;
    fault.amount = rate(chance);
  } else if (kind < 90) {
    fault.kind = jump_clock;
    fault.node = node;
    fault.amount = (detail % 2 == 0 ? 1 : -1) * ttl.count();
  } else if (kind < 95) {
    fault.kind = end_session;
    fault.process = process;
  } else {
    fault.kind = revoke;
    fault.name = static_cast<std::uint16_t>(detail % plan.locks.size());
    fault.flag = detail % 8 == 0;
  }
  return fault;
}

void plan_faults(Plan& plan, Chance& chance) {
  const std::uint64_t count = chance.percent(15) ? 0 : chance.below(10);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Fault fault = plan_fault(plan, chance);
    plan.faults.push_back(fault);
    if (fault.kind != Fault::Kind::jump_wall) continue;
    // A machine whose clock is set was often paused just before.
    Fault pause = fault;
    pause.kind = Fault::Kind::pause;
    pause.where = Where::inside;
    plan.faults.push_back(pause);
  }
}

// Each branch with a probability of a quarter.
std::uint32_t plan_rare(Chance& chance) {
  std::uint32_t rare = 0;
  for (unsigned i = 0; i < static_cast<unsigned>(core::Rare::count_); ++i)
    if (chance.percent(25)) rare |= 1U << i;
  return rare;
}

// The cost of a lock, and that no lease is lost without a reason, can be judged only without
// faults.
void keep_quiet(Plan& plan) {
  plan.noise = {.latest = plan.noise.latest};
  plan.rare = 0;
  plan.faults.clear();
}

Plan made(std::uint64_t seed, auto&& change) {
  Chance chance(seed);
  Plan plan;
  plan.seed = seed;
  plan.calms = chance.percent(60);
  plan.end = chance.between(Millis(3000), Millis(20'000));
  plan_locks(plan, chance);
  plan_store(plan, chance);
  change(plan);
  const std::uint64_t processes = 2 + chance.below(3);
  for (std::uint64_t i = 0; i < processes; ++i) plan.rates.push_back(rate(chance));
  plan.clients = static_cast<unsigned>(1 + chance.below(3));
  plan.handovers = chance.percent(30) ? 0 : 64;
  plan_habit(plan, chance);
  plan_noise(plan, chance);
  plan.rare = plan_rare(chance);
  plan_faults(plan, chance);
  if (seed % 8 == 0) keep_quiet(plan);
  return plan;
}

}  // namespace

Plan plan_of(std::uint64_t seed) {
  return made(seed, [](Plan&) {});
}

Plan plan_of(std::uint64_t seed, Shape shape, Memory memory, bool guard) {
  return made(seed, [&](Plan& plan) {
    plan.store.shape = shape;
    plan.store.memory = memory;
    plan.store.guard = guard;
    const std::size_t nodes = shape == Shape::single ? 1 : shape == Shape::replicated ? 2 : 3;
    plan.store.rates.resize(nodes, 0);
  });
}

}  // namespace holdfast::lab
