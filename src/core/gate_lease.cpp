// What is held: grants, handover inside the process, renewal, loss, release and what is owed.
#include <new>
#include <utility>

#include "core/gate.hpp"

namespace holdfast::core {
namespace {

Nanos drop_pause(std::uint32_t attempts, Entropy& entropy) {
  const Nanos most = std::min<Nanos>(Millis(50) * (1 << std::min(attempts, 5U)), Millis(1000));
  return most / 2 + Nanos(static_cast<std::int64_t>(entropy.draw() %
                                                    static_cast<std::uint64_t>(most.count() / 2)));
}

// Longer than a century is for ever; so nothing overflows.
BootTime limited(BootTime from, Millis span) {
  return span >= std::chrono::hours(24) * 36'500 ? never : from + span;
}

}  // namespace

// ── grants ──────────────────────────────────────────────────────────────────────────────────────

// Granted by a message. If that took too long to be worth much, a renewal confirms it first.
void Gate::handed(Claim& claim, const Moment& moment, Orders& orders) {
  Attempt& attempt = *claim.attempt;
  attempt.early = false;
  claim.number = attempt.early_number;
  const auto apart = std::chrono::microseconds(attempt.early_us - attempt.answered_us);
  const BootTime end = end_of_handed(attempt.answered_at, apart, moment.now, attempt.early_ttl,
                                     terms_.traits.granularity);
  const Nanos worth = end - claim.wish->margin - moment.now;
  if (apart.count() >= 0 && worth >= Nanos(attempt.early_ttl) / 4)
    return hold_from(claim, end, claim.number, attempt.early_ttl, moment, orders);
  claim.state = Claim::State::confirming;
  order(claim, Claim::Order::renew);
}

void Gate::hold_from(Claim& claim, BootTime end, std::uint64_t number, Millis ttl,
                     const Moment& moment, Orders&) {
  static_cast<Link<OfOutbox>&>(claim).unlink();
  claim.order = Claim::Order::none;
  claim.number = number;
  claim.ttl = ttl;
  claim.granted_at = moment.now;
  claim.wall_proven = claim.wall_at_send;
  claim.placed = true;
  claim.attempts = 0;
  claim.until = terms_.session() ? never : end - claim.wish->margin;
  if (counted_until(claim) <= moment.now) {
    fail_served(claim,
                {Errc::unavailable, "too_slow", "the answer came too late to be worth anything"});
    return owe(claim, claim.doubtful, moment.now, moment);
  }
  front_ = nullptr;
  news_.reset();
  if (claim.helpers == 0) claim.attempt.reset();
  claim.state = Claim::State::held;
  claim.next_at = terms_.session() ? never : renew_at(end - less_drift(ttl), ttl);
  held_.push_back(claim);
  if (!wanted(claim)) return let_go(claim, moment);
  serve(claim, moment);
  if (claim.holds.empty()) let_go(claim, moment);
}

// To the first in line; to all readers in front of the first writer.
void Gate::serve(Claim& claim, const Moment& moment) {
  for (Waiter* waiter = line_.front(); waiter && serves(claim, *waiter);) {
    Waiter* next = line_.next(*waiter);
    const bool given = give(claim, *waiter, moment);
    if (given && !claim.wish->shared()) return;
    if (given && terms_.traits.handovers == 0) return;
    waiter = next;
  }
}

bool Gate::give(Claim& claim, Waiter& waiter, const Moment& moment) {
  try {
    waiter.hold = std::make_shared<Hold>();
  } catch (const std::bad_alloc&) {
    settle(waiter, {Errc::unavailable, "resource", "out of memory"});
    return false;
  }
  Hold& hold = *waiter.hold;
  const Wish& wish = *waiter.wish;
  hold.token = token_of(terms_.traits, claim.number, claim.turn);
  hold.owner = waiter.owner;
  hold.terms = &terms_;
  hold.margin = claim.wish->margin;
  hold.pause_limit = pause_limit(claim.ttl);
  hold.since = moment.now;
  hold.ends = limited(moment.now, wish.hold_at_most);
  hold.claim = &claim;
  claim.holds.push_back(hold);
  set_until(claim);
  settle(waiter);
  return true;
}

// Writes what valid() reads. A lease that ends by itself says so a little before it does.
void Gate::set_until(Claim& claim) {
  for (Hold* hold = claim.holds.front(); hold; hold = claim.holds.next(*hold)) {
    BootTime until = claim.until;
    if (hold->ends != never)
      until = std::min(until,
                       hold->ends - std::min<Nanos>(hold->margin, (hold->ends - hold->since) / 10));
    hold->until.store(until.time_since_epoch().count(), std::memory_order_release);
    hold->wall_ahead.store(claim.wall_proven.count(), std::memory_order_release);
  }
}

BootTime Gate::counted_until(const Claim& claim) const noexcept {
  return terms_.session() ? std::min(claim.until, terms_.proven_until() - claim.wish->margin)
                          : claim.until;
}

bool Gate::joinable(const Claim& claim, const Waiter& waiter, const Moment& moment) const noexcept {
  return claim.state == Claim::State::held && claim.wish->shared() && serves(claim, waiter) &&
         terms_.traits.handovers > 0 && moment.now - claim.granted_at <= handover_time &&
         counted_until(claim) - moment.now > Nanos(claim.ttl) / 3;
}

bool Gate::enter_again(Waiter& waiter, const Moment& moment, Orders& orders) {
  Hold* hold = waiter.owner.nobody() ? nullptr : held_by(waiter.owner);
  if (!hold) return false;
  if (hold->claim && hold->claim->state == Claim::State::held &&
      counted_until(*hold->claim) <= moment.now)
    lose(*hold->claim, "expired", moment, orders);
  if (hold->state.load() != Hold::State::held) {
    settle(waiter, {Errc::lost, "lost", "the lease that it would enter again was lost"});
  } else if (refuse_other_kind(waiter)) {
    return true;
  } else if (waiter.wish->weight > hold->claim->weight) {
    settle(waiter, {Errc::invalid, "upgrade",
                    "whoever holds a part cannot wait for more of it: it would wait for itself"});
  } else {
    give(*hold->claim, waiter, moment);
  }
  return true;
}

Hold* Gate::held_by(const Entrant& owner) const noexcept {
  for (Hold* hold = outlived_.front(); hold; hold = outlived_.next(*hold))
    if (hold->owner == owner) return hold;
  Hold* latest = nullptr;
  for (Claim* claim = held_.front(); claim; claim = held_.next(*claim))
    for (Hold* hold = claim->holds.front(); hold; hold = claim->holds.next(*hold))
      if (hold->owner == owner) latest = hold;
  return latest;
}

bool Gate::full() const noexcept {
  std::uint64_t weights = 0;
  std::uint32_t capacity = 1;
  for (const Claim* claim = held_.front(); claim; claim = held_.next(const_cast<Claim&>(*claim))) {
    weights += claim->weight;
    capacity = claim->wish->capacity;
  }
  return weights >= capacity;
}

// ── release ─────────────────────────────────────────────────────────────────────────────────────

Gate::Released Gate::release(Hold& hold, const Moment& moment, Orders& orders) {
  if (!hold.claim) {
    static_cast<Link<OfClaim>&>(hold).unlink();
    return hold.state.load() == Hold::State::lost ? Released::lost : Released::done;
  }
  Claim& claim = *hold.claim;
  if (claim.state == Claim::State::held && counted_until(claim) <= moment.now)
    lose(claim, "expired", moment, orders);
  if (hold.state.load() == Hold::State::held && hold.counted_until() <= moment.now)
    lose_hold(hold, "hold_at_most");
  const bool lost = hold.state.load() == Hold::State::lost;
  if (!lost) hold.state.store(Hold::State::released);
  static_cast<Link<OfClaim>&>(hold).unlink();
  static_cast<Link<OfMourned>&>(hold).unlink();
  hold.claim = nullptr;
  if (!claim.holds.empty()) return lost ? Released::lost : Released::done;
  if (!lost && can_hand_over(claim, moment)) {
    ++claim.turn;
    line_.front()->handed_over = true;
    serve(claim, moment);
    if (!claim.holds.empty()) return Released::done;
  }
  let_go(claim, moment);
  pump(moment);
  return lost ? Released::lost : Released::under_way;
}

// To one of the same kind, weight, purpose and a ttl not larger, while enough of it is left; a
// bounded number of times, so that everyone else in the store's line gets a turn.
bool Gate::can_hand_over(const Claim& claim, const Moment& moment) const noexcept {
  return claim.state == Claim::State::held && !front_ && !claim.wish->shared() && wanted(claim) &&
         claim.turn < terms_.traits.handovers && moment.now - claim.granted_at <= handover_time &&
         counted_until(claim) - moment.now > Nanos(claim.ttl) / 3;
}

void Gate::let_go(Claim& claim, const Moment& moment) {
  const bool in_time = claim.state == Claim::State::held;
  owe(claim, claim.doubtful, moment.now, moment);
  if (in_time) {
    claim.releasing = true;
    ++releasing_;
  }
}

void Gate::owe(Claim& claim, bool doubtful, BootTime drop_at, const Moment& moment) {
  if (&claim == front_) front_ = nullptr;
  static_cast<Link<OfGate>&>(claim).unlink();
  static_cast<Link<OfOutbox>&>(claim).unlink();
  claim.order = Claim::Order::none;
  claim.state = Claim::State::owed;
  ++debts_;
  claim.attempts = 0;
  claim.drop = {name_, claim.id, doubtful, std::max(claim.ttl, claim.wish->ttl)};
  claim.ends_at = moment.now + with_drift(claim.drop.ttl);
  owed_.push_back(claim);
  if (drop_at <= moment.now) {
    order(claim, Claim::Order::drop);
  } else {
    claim.next_at = drop_at;
  }
}

void Gate::drop_again(Claim& claim) noexcept {
  if (claim.state == Claim::State::owed && !claim.dropping) order(claim, Claim::Order::drop);
}

void Gate::dropped(Claim& claim, const Answer& answer, const Moment& moment, Orders&) {
  claim.dropping = false;
  claim.drop_said = answer.said;
  if (claim.releasing) {
    claim.releasing = false;
    --releasing_;
  }
  const bool paid = answer.said == Said::yes || answer.said == Said::gone;
  if (paid || claim.state == Claim::State::gone) {
    retire(claim);
  } else {
    claim.next_at = moment.now + drop_pause(claim.attempts, moment.entropy);
  }
  pump(moment);
}

bool Gate::can_downgrade(const Hold& hold, std::uint32_t weight) const noexcept {
  return hold.claim && hold.claim->state == Claim::State::held &&
         hold.claim->wish->kind == Kind::rw && hold.claim->weight > weight;
}

void Gate::downgraded(Claim& claim, std::uint32_t weight, const Moment& moment, Orders&) {
  claim.weight = weight;
  pump(moment);
}

void Gate::close(const Moment& moment, Orders& orders) {
  closed_ = true;
  while (Waiter* waiter = line_.front()) settle(*waiter, {Errc::cancelled, "closed"});
  withdraw_unwanted(moment);
  while (Claim* claim = held_.front()) {
    if (claim->state == Claim::State::held) lose(*claim, "closed", moment, orders);
    claim->ends_at = moment.now;
    tick_held(*claim, moment, orders);
  }
}

// ── renewal and loss ────────────────────────────────────────────────────────────────────────────

void Gate::renewed(Claim& claim, const Answer& answer, const Moment& moment, Orders& orders) {
  claim.renewing = false;
  if (claim.state == Claim::State::gone) return retire(claim);
  const BootTime end = end_of(claim.sent_at, answer.ttl, terms_.traits.granularity);
  if (claim.state == Claim::State::confirming) {
    if (answer.said == Said::yes) {
      hold_from(claim, end, claim.number, answer.ttl, moment, orders);
    } else if (answer.said == Said::gone) {
      claim.placed = false;
      forget_front(moment);
    } else {
      note_silence(&answer.problem, moment);
      pause(claim, renew_again_after(claim.wish->ttl), moment);
    }
    return pump(moment);
  }
  if (claim.state != Claim::State::held) return;
  const Token token = token_of(terms_.traits, claim.number, claim.turn);
  if (counted_until(claim) <= moment.now) {
    lose(claim, "expired", moment, orders);  // somebody may have seen valid() false
  } else if (answer.said == Said::yes) {
    claim.ttl = answer.ttl;
    claim.wall_proven = claim.wall_at_send;
    claim.until = std::max(claim.until, end - claim.wish->margin);
    claim.next_at = renew_at(claim.sent_at, answer.ttl);
    set_until(claim);
    if (std::exchange(claim.at_risk, false)) note(orders, Event::Kind::safe, token, "");
    note(orders, Event::Kind::renewed, token, "");
  } else if (answer.said == Said::gone) {
    lose(claim, answer.problem.reason == "revoked" ? "revoked" : "gone", moment, orders);
  } else {
    claim.next_at = moment.now + renew_again_after(claim.ttl);
    if (!std::exchange(claim.at_risk, true))
      note(orders, Event::Kind::at_risk, token, "renewal_failed");
  }
}

void Gate::gone(const ClaimId& id, const Moment& moment, Orders& orders) {
  if (Claim* claim = find_held(id)) {
    if (claim->state == Claim::State::held) lose(*claim, "gone", moment, orders);
  } else if (front_ && front_->id == id && !front_->asking) {
    fail_served(*front_,
                {Errc::lost, "entry_deleted", "its place in line was deleted at the store"});
    forget_front(moment);
    pump(moment);
  }
}

Claim* Gate::find_held(const ClaimId& id) const noexcept {
  for (Claim* claim = held_.front(); claim; claim = held_.next(*claim))
    if (claim->id == id) return claim;
  return nullptr;
}

// Told at once; let go when the handle is, or when the lease would have ended anyway. Until then
// the work may still be stopping, so nobody of ours enters either.
void Gate::lose(Claim& claim, const char* reason, const Moment& moment, Orders& orders) {
  claim.ends_at = std::max(counted_until(claim) + claim.wish->margin, moment.now);
  claim.state = Claim::State::lost;
  static_cast<Link<OfOutbox>&>(claim).unlink();
  claim.order = Claim::Order::none;
  for (Hold* hold = claim.holds.front(); hold; hold = claim.holds.next(*hold))
    lose_hold(*hold, reason);
  note(orders, Event::Kind::lost, token_of(terms_.traits, claim.number, claim.turn), reason);
}

void Gate::lose_hold(Hold& hold, const char* reason) {
  if (hold.state.load() != Hold::State::held) return;
  hold.why_lost = reason;
  hold.state.store(Hold::State::lost, std::memory_order_release);
  mourned_.push_back(hold);
}

// Its claim is let go, but its owner still has it, and must not enter again as if nothing were.
void Gate::detach(Hold& hold) noexcept {
  static_cast<Link<OfClaim>&>(hold).unlink();
  hold.claim = nullptr;
  if (!hold.owner.nobody()) outlived_.push_back(hold);
}

// hold_at_most: lost a little before, let go at the end.
void Gate::end_holds(Claim& claim, const Moment& moment, Orders& orders) {
  for (Hold* hold = claim.holds.front(); hold;) {
    Hold* next = claim.holds.next(*hold);
    if (hold->state.load() == Hold::State::held && hold->counted_until() <= moment.now) {
      lose_hold(*hold, "hold_at_most");
      note(orders, Event::Kind::lost, hold->token, "hold_at_most");
    }
    if (hold->ends <= moment.now) {
      detach(*hold);
    }
    hold = next;
  }
  if (claim.holds.empty()) let_go(claim, moment);
}

void Gate::tick_held(Claim& claim, const Moment& moment, Orders& orders) {
  if (claim.state == Claim::State::held && counted_until(claim) <= moment.now)
    lose(claim, "expired", moment, orders);
  if (claim.state == Claim::State::lost) {
    if (claim.ends_at > moment.now) return;
    while (Hold* hold = claim.holds.front()) detach(*hold);
    return let_go(claim, moment);
  }
  end_holds(claim, moment, orders);
  if (claim.state != Claim::State::held || terms_.session()) return;
  const bool paused = moment.wall_ahead - claim.wall_proven > pause_limit(claim.ttl);
  if ((claim.next_at <= moment.now || paused) && !claim.renewing) order(claim, Claim::Order::renew);
  const BootTime risk = claim.until + claim.wish->margin - Nanos(claim.ttl) / 2;
  if (risk <= moment.now && !std::exchange(claim.at_risk, true))
    note(orders, Event::Kind::at_risk, token_of(terms_.traits, claim.number, claim.turn),
         "renewal_late");
}

void Gate::doubt(Hold& hold, const Moment& moment) {
  if (!hold.claim || hold.claim->state != Claim::State::held || hold.claim->renewing) return;
  if (hold.doubted(moment.wall_ahead)) order(*hold.claim, Claim::Order::renew);
}

}  // namespace holdfast::core
