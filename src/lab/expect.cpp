#include "lab/expect.hpp"

#include <algorithm>

#include "core/validity.hpp"

namespace holdfast::lab {
namespace {

bool has(const Plan& plan, auto&& matches) { return std::ranges::any_of(plan.faults, matches); }

// True if the store may lose something that it has confirmed.
bool forgets(const Plan& plan) {
  const StorePlan& store = plan.store;
  if (store.shape == Shape::consensus) return false;
  return has(plan, [&](const Fault& fault) {
    if (fault.kind == Fault::Kind::forget || fault.kind == Fault::Kind::failover) return true;
    const bool restarts = fault.kind == Fault::Kind::crash && fault.node != nobody;
    return restarts && store.memory != Memory::kept;
  });
}

}  // namespace

Expectation expectation_of(const Plan& plan) {
  const auto jumps = [](const Fault& fault) { return fault.kind == Fault::Kind::jump_clock; };
  // If somebody else ends a lease, its holder is told only afterwards.
  const auto breaks = [&](const Fault& fault) {
    return (fault.kind == Fault::Kind::revoke && fault.flag) ||
           (fault.kind == Fault::Kind::end_session && plan.store.shape == Shape::consensus);
  };
  Expectation expected;
  const bool doubles = forgets(plan) && !plan.store.guard;
  expected.exclusive = !doubles && !has(plan, jumps) && !has(plan, breaks);
  expected.fifo = !forgets(plan);
  expected.tokens = !has(plan, jumps);
  expected.notifies = plan.store.notifies;
  const NoisePlan& noise = plan.noise;
  expected.faults = !plan.faults.empty() || noise.lost_requests || noise.lost_replies ||
                    noise.lost_messages || noise.late || plan.rare;
  expected.handovers = plan.handovers;
  expected.margin = Nanos::max();
  for (const LockPlan& lock : plan.locks) {
    expected.ttl = std::max<Nanos>(expected.ttl, lock.ttl);
    expected.lock_delay = std::max<Nanos>(expected.lock_delay, lock.lock_delay);
    expected.margin = std::min(expected.margin, core::default_margin(lock.ttl));
  }
  // Claims outlive their ttl by as much as the store's clock went back, and after a fault the guard
  // may keep everybody out.
  for (const Fault& fault : plan.faults)
    if (jumps(fault)) expected.grace += Nanos(std::max<std::int64_t>(-fault.amount, 0));
  if (plan.store.guard) expected.grace += plan.store.guard_ttl;
  // A withdrawn claim may come back, although nobody wants it.
  if (forgets(plan) || has(plan, jumps)) expected.grace += 2 * expected.ttl;
  return expected;
}

}  // namespace holdfast::lab
