// Leases: grants, handover inside the process, release and debts.
#include <new>
#include <utility>

#include "core/gate.hpp"
#include "core/teeth.hpp"

namespace holdfast::core {
namespace {

Nanos drop_pause(std::uint32_t attempts, Entropy& entropy) {
  const Nanos most = std::min<Nanos>(Millis(50) * (1 << std::min(attempts, 5U)), Millis(1000));
  return most / 2 + Nanos(static_cast<std::int64_t>(entropy.draw() %
                                                    static_cast<std::uint64_t>(most.count() / 2)));
}

// With the pauses in between this takes about an hour. A debt to a server that is gone for good
// must end.
constexpr std::uint32_t most_drops = 4'000;

// A span of a century or more counts as for ever, so that nothing overflows.
BootTime limited(BootTime from, Millis span) {
  return span >= std::chrono::hours(24) * 36'500 ? never : from + span;
}

}  // namespace

// ── grants ──────────────────────────────────────────────────────────────────────────────────────

// A message granted it. If too little of the lease is left, or the message is older than the last
// answer, asks again to learn what became of the claim.
void Gate::handed(Claim& claim, const Moment& moment, Orders& orders) {
  Attempt& attempt = *claim.attempt;
  if (mutated(Mutation::handed_from_arrival)) attempt.answered_at = moment.now;
  attempt.early = false;
  const auto apart = std::chrono::microseconds(attempt.early_us - attempt.answered_us);
  const BootTime end = terms_.session()
                           ? terms_.proven_until()
                           : end_of_handed(attempt.answered_at, apart, moment.now,
                                           attempt.early_ttl, terms_.traits.granularity);
  const Nanos worth = end - claim.margin() - moment.now;
  // A store that cannot know whether its message was heard grants for a short time. With a third of
  // the ttl gone the renewal would be due anyway.
  const bool due = !terms_.session() && attempt.early_ttl < claim.wish->ttl * 2 / 3;
  if (!due && apart.count() >= 0 && worth >= Nanos(attempt.early_ttl) / 4 &&
      !rare(Rare::confirm_handed))
    return hold_from(claim, end, attempt.early_number, attempt.early_ttl, moment, orders);
  order(claim, Claim::Order::ask);
}

void Gate::hold_from(Claim& claim, BootTime end, std::uint64_t number, Millis ttl,
                     const Moment& moment, Orders&) {
  static_cast<Link<OfOutbox>&>(claim).unlink();
  claim.order = Claim::Order::none;
  claim.number = number;
  claim.ttl = ttl;
  claim.granted_at = moment.now;
  claim.proven_at = claim.sent_at;
  claim.wall_proven = claim.wall_at_send;
  claim.placed = true;
  claim.attempts = 0;
  claim.until = terms_.session() ? never : told_at(claim, end);
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

// Gives the claim to the first in line, or to all readers in front of the first writer.
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
  hold.margin = claim.margin();
  hold.pause_limit = pause_limit(claim.ttl);
  hold.since = moment.now;
  hold.ends = limited(moment.now, wish.hold_at_most);
  hold.claim = &claim;
  claim.holds.push_back(hold);
  set_until(claim);
  settle(waiter);
  return true;
}

// Writes what valid() reads. A lease with hold_at_most stops being valid a little before its end.
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
  return terms_.session() ? std::min(claim.until, terms_.proven_until() - claim.margin())
                          : claim.until;
}

BootTime Gate::told_at(const Claim& claim, BootTime end) const noexcept {
  if (mutated(Mutation::lost_after_end)) return end + Millis(1);
  return end - claim.margin();
}

bool Gate::joinable(const Claim& claim, const Waiter& waiter, const Moment& moment) const noexcept {
  if (mutated(Mutation::reader_joins_writer) && claim.wish->kind == Kind::rw)
    return claim.state == Claim::State::held;
  return claim.state == Claim::State::held && claim.wish->shared() && serves(claim, waiter) &&
         terms_.traits.handovers > 0 && moment.now - claim.granted_at <= handover_time &&
         counted_until(claim) - moment.now > Nanos(claim.ttl) / 3 && !rare(Rare::keep_no_readers);
}

bool Gate::enter_again(Waiter& waiter, const Moment& moment, Orders& orders) {
  const bool may = !waiter.owner.nobody() || mutated(Mutation::anybody_enters);
  Hold* hold = may ? held_by(waiter.owner) : nullptr;
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
      if (hold->owner == owner || mutated(Mutation::anybody_enters)) latest = hold;
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
    if (!mutated(Mutation::same_turn)) ++claim.turn;
    line_.front()->handed_over = true;
    serve(claim, moment);
    if (!claim.holds.empty()) return Released::done;
  }
  let_go(claim, moment);
  pump(moment);
  return lost ? Released::lost : Released::under_way;
}

// Only while enough of the lease is left. Only a bounded number of times, so that other processes
// in the store's line get a turn. Only the whole capacity: of a part, the store may have granted
// the next number elsewhere, and tokens must not go back.
bool Gate::can_hand_over(const Claim& claim, const Moment& moment) const noexcept {
  if (mutated(Mutation::endless_handover))
    return claim.state == Claim::State::held && wanted(claim);
  return claim.state == Claim::State::held && !front_ && claim.weight == claim.wish->capacity &&
         wanted(claim) && claim.turn < terms_.traits.handovers &&
         moment.now - claim.granted_at <= handover_time &&
         counted_until(claim) - moment.now > Nanos(claim.ttl) / 3 && !rare(Rare::keep_no_turn);
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
  claim.drop = {name_, claim.id, doubtful || rare(Rare::drop_with_mark),
                std::max(claim.ttl, claim.wish->ttl)};
  // A session's claims have no ttl of their own, so only an answer ends such a debt.
  claim.ends_at = terms_.session() ? never : moment.now + with_drift(claim.drop.ttl);
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

void Gate::dropped(Claim& claim, const Answer& answer, const Moment& moment, Orders& orders) {
  claim.dropping = false;
  claim.drop_said = answer.said;
  if (claim.releasing) {
    claim.releasing = false;
    --releasing_;
  }
  if (mutated(Mutation::handover_unconfirmed) && answer.said == Said::unknown && !front_ &&
      claim.state == Claim::State::owed && claim.number > 0 && wanted(claim)) {
    static_cast<Link<OfGate>&>(claim).unlink();
    --debts_;
    ++claim.turn;
    const BootTime end = terms_.session() ? never : claim.until + claim.margin();
    return hold_from(claim, end, claim.number, claim.ttl, moment, orders);
  }
  const bool paid =
      answer.said == Said::yes || answer.said == Said::gone || mutated(Mutation::debt_forgotten);
  // A server that stood still may execute a doubtful ask when it goes on; its ttl starts then.
  const bool hopeless = claim.drop.doubtful && claim.ends_at <= moment.now &&
                        (claim.attempts >= most_drops || abandoned());
  if (paid || hopeless || claim.state == Claim::State::gone) {
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

}  // namespace holdfast::core
