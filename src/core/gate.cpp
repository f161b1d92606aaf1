// Orders and timers, and the parts that lines and leases share.
#include "core/gate.hpp"

#include <utility>

namespace holdfast::core {

void Orders::clear() noexcept {
  for (std::size_t i = 0; i < losses; ++i) loss[i].reset();
  starts = wakes = losses = notes = 0;
  notes_dropped = 0;
  hand = false;
}

Gate::Gate(std::string name, const Terms& terms) noexcept : name_(std::move(name)), terms_(terms) {}
Gate::~Gate() = default;

void Gate::order(Claim& claim, Claim::Order what) noexcept {
  claim.order = what;
  claim.next_at = never;
  if (what == Claim::Order::ask) claim.state = Claim::State::asking;
  if (!static_cast<Link<OfOutbox>&>(claim).linked()) outbox_.push_back(claim);
}

// While a call is under way or a thread helps, the claim stays; the last of them ends it.
void Gate::retire(Claim& claim) noexcept {
  if (claim.releasing) {
    claim.releasing = false;
    --releasing_;
  }
  if (claim.state == Claim::State::owed) --debts_;
  claim.state = Claim::State::gone;
  static_cast<Link<OfGate>&>(claim).unlink();
  static_cast<Link<OfOutbox>&>(claim).unlink();
  if (!claim.under_way() && claim.helpers == 0) end_claim(&claim);
}

void Gate::unattend(Claim& claim) noexcept {
  if (--claim.helpers > 0) return;
  if (claim.state == Claim::State::held) claim.attempt.reset();
  if (claim.state == Claim::State::gone && !claim.under_way()) end_claim(&claim);
}

// ── what is to be done ──────────────────────────────────────────────────────────────────────────

void Gate::collect(const Moment& moment, Orders& orders, const Collector& collector) {
  while (orders.wakes < Orders::room - 1) {  // one is kept for the waiter that must help an ask
    Waiter* waiter = settled_.pop_front();
    if (!waiter) break;
    if (waiter != collector.self)
      orders.wake[orders.wakes++] = {waiter->continuation, waiter->thread};
    waiter->delivered.store(true, std::memory_order_release);  // its node may be gone from here on
  }
  while (orders.losses < Orders::room) {
    Hold* hold = mourned_.pop_front();
    if (!hold) break;
    if (hold->loss.stop_possible()) orders.loss[orders.losses++] = hold->shared_from_this();
  }
  if (!collector.starts) {
    orders.hand |= !outbox_.empty();
    return;
  }
  const bool helped = !terms_.traits.immediate;
  while (orders.starts < Orders::room) {
    Claim* claim = outbox_.pop_front();
    if (!claim) break;
    orders.start[orders.starts++] = {claim, claim->order};
    claim->answer_by =
        moment.now + std::min<Nanos>(answer_within(claim->wish->ttl), terms_.patience);
    switch (std::exchange(claim->order, Claim::Order::none)) {
      case Claim::Order::none: break;
      case Claim::Order::ask: {
        claim->asking = true;
        claim->sent_at = moment.now;
        claim->wall_at_send = moment.wall_ahead;
        claim->attempt->trial = claim->attempts + 1;
        const Waiter* head = line_.front();
        claim->attempt->hurried =
            head && head->deadline > moment.now && head->deadline < claim->answer_by;
        if (claim->attempt->hurried) claim->answer_by = head->deadline;
        break;
      }
      case Claim::Order::renew:
        claim->renewal_waits = true;
        claim->next_at = terms_.session() ? never : moment.now + resend_after(claim->ttl);
        break;
      case Claim::Order::drop:
        claim->dropping = true;
        ++claim->attempts;
        break;
    }
  }
  if (!helped) return;
  // The first in line helps its ask, even one that an earlier head left under way.
  const Waiter* head = line_.front();
  if (front_ && front_->asking && front_->helpers == 0 && head && head->thread &&
      head != collector.self)
    orders.wake[orders.wakes++] = {head->continuation, true};
  orders.hand |= unattended() != nullptr;
}

Claim* Gate::to_help(const Waiter& waiter) const noexcept {
  return front_ && front_->asking && line_.front() == &waiter ? front_ : nullptr;
}

bool Gate::awaits_message(const Waiter& waiter) const noexcept {
  return terms_.traits.notifies && front_ && front_->state == Claim::State::queued &&
         line_.front() == &waiter;
}

Claim* Gate::unattended() const noexcept {
  const Waiter* head = line_.front();
  if (front_ && front_->asking && front_->helpers == 0 && !(head && head->thread)) return front_;
  for (Claim* owed = owed_.front(); owed; owed = owed_.next(*owed))
    if (owed->dropping && owed->helpers == 0) return owed;
  return nullptr;
}

bool Gate::idle() const noexcept {
  return line_.empty() && settled_.empty() && !front_ && held_.empty() && owed_.empty();
}

// ── time ────────────────────────────────────────────────────────────────────────────────────────

void Gate::tick(const Moment& moment, Orders& orders) {
  for (Claim* claim = held_.front(); claim;) {
    Claim* next = held_.next(*claim);
    tick_held(*claim, moment, orders);
    claim = next;
  }
  for (Claim* claim = owed_.front(); claim;) {
    Claim* next = owed_.next(*claim);
    if (claim->ends_at <= moment.now && !claim->drop.doubtful) {
      retire(*claim);  // its ttl has passed: the store has forgotten it
    } else if (claim->next_at <= moment.now && !claim->dropping) {
      order(*claim, Claim::Order::drop);
    }
    claim = next;
  }
  if (look_at_line_ <= moment.now) expire_waiters(moment);
  if (front_ && !front_->asking && front_->next_at <= moment.now) order(*front_, Claim::Order::ask);
  pump(moment);
}

BootTime Gate::next_tick() const noexcept {
  BootTime next = look_at_line_;
  if (front_ && !front_->asking) next = std::min(next, front_->next_at);
  for (Claim* claim = held_.front(); claim; claim = held_.next(*claim)) {
    if (claim->state == Claim::State::lost) {
      next = std::min(next, claim->ends_at);
      continue;
    }
    next = std::min(next, counted_until(*claim));
    if (!claim->renewal_waits) next = std::min(next, claim->next_at);
    if (!claim->at_risk) next = std::min(next, at_risk_from(*claim));
    for (Hold* hold = claim->holds.front(); hold; hold = claim->holds.next(*hold)) {
      if (hold->ends == never) continue;
      next = std::min(next,
                      hold->state.load() == Hold::State::held ? hold->counted_until() : hold->ends);
    }
  }
  for (Claim* claim = owed_.front(); claim; claim = owed_.next(*claim)) {
    if (!claim->drop.doubtful) next = std::min(next, claim->ends_at);
    if (!claim->dropping) next = std::min(next, claim->next_at);
  }
  return next;
}

void Gate::note(Orders& orders, Event::Kind kind, Token token, const char* reason) const noexcept {
  if (orders.notes < Orders::room) {
    orders.note[orders.notes++] = {kind, token, reason};
  } else {
    ++orders.notes_dropped;
  }
}

}  // namespace holdfast::core
