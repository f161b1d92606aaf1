// Renewal, and the loss of leases that were not renewed.
#include <utility>

#include "core/gate.hpp"
#include "core/teeth.hpp"

namespace holdfast::core {

Sent Gate::renewal_sent(Claim& claim, const Moment& moment) noexcept {
  claim.renewal_waits = false;
  ++claim.renewals;
  return {moment.now, moment.wall_ahead};
}

BootTime Gate::renewal_deadline(const Claim& claim, const Moment& moment) const noexcept {
  return moment.now + std::max<Nanos>(claim.wish->ttl, least_silence);
}

void Gate::renewed(Claim& claim, const Sent& sent, const Answer& answer, const Moment& moment,
                   Orders& orders) {
  --claim.renewals;
  if (claim.state == Claim::State::gone) return retire(claim);
  const BootTime counted_from = mutated(Mutation::validity_from_answer) ? moment.now : sent.at;
  const BootTime end = end_of(counted_from, answer.ttl, terms_.traits.granularity);
  if (mutated(Mutation::resurrection) && claim.state == Claim::State::lost &&
      answer.said == Said::yes) {
    claim.state = Claim::State::held;
    claim.until = told_at(claim, end);
    for (Hold* hold = claim.holds.front(); hold; hold = claim.holds.next(*hold))
      hold->state.store(Hold::State::held);
  }
  if (claim.state != Claim::State::held) return;
  const Token token = token_of(terms_.traits, claim.number, claim.turn);
  if (counted_until(claim) <= moment.now) {
    lose(claim, "expired", moment, orders);  // somebody may have seen valid() false
  } else if (answer.said == Said::gone) {
    lose(claim, answer.problem.reason == "revoked" ? "revoked" : "gone", moment, orders);
  } else if (counted_from < claim.proven_at) {
    return;  // a renewal that was sent later is answered already
  } else if (answer.said == Said::yes) {
    claim.ttl = answer.ttl;
    claim.proven_at = counted_from;
    claim.wall_proven = sent.wall_ahead;
    claim.until = std::max(claim.until, told_at(claim, end));
    claim.next_at = rare(Rare::renew_early) ? moment.now : renew_at(counted_from, answer.ttl);
    if (mutated(Mutation::eager_renewal)) claim.next_at = counted_from + Nanos(answer.ttl) / 12;
    if (terms_.session()) claim.next_at = never;
    set_until(claim);
    if (std::exchange(claim.at_risk, false)) note(orders, Event::Kind::safe, token, "");
    note(orders, Event::Kind::renewed, token, "");
  } else {
    claim.next_at = std::min(claim.next_at, moment.now + renew_again_after(claim.ttl));
    risk(claim, "renewal_failed", orders);
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

// Reports the loss at once. The claim is released with its last handle, or when the lease would
// have ended anyway. Until then the work may still be stopping, so no waiter here enters either.
void Gate::lose(Claim& claim, const char* reason, const Moment& moment, Orders& orders) {
  claim.ends_at = std::max(counted_until(claim) + claim.margin(), moment.now);
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
  if (!mutated(Mutation::silent_loss)) mourned_.push_back(hold);
}

// Its claim is released, but its owner still has it, and must not re-enter as if it still held.
void Gate::detach(Hold& hold) noexcept {
  static_cast<Link<OfClaim>&>(hold).unlink();
  hold.claim = nullptr;
  if (!hold.owner.nobody()) outlived_.push_back(hold);
}

// hold_at_most: lost a little before the end, released at the end.
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
  if (claim.state != Claim::State::held) return;
  const bool paused = moment.wall_ahead - claim.wall_proven > pause_limit(claim.ttl);
  const bool due = claim.next_at <= moment.now || (paused && claim.renewals == 0);
  if (due && !claim.renewal_waits) order(claim, Claim::Order::renew);
  if (at_risk_from(claim) <= moment.now) risk(claim, "renewal_late", orders);
}

BootTime Gate::at_risk_from(const Claim& claim) const noexcept {
  return counted_until(claim) + claim.margin() - Nanos(claim.ttl) / 2;
}

void Gate::risk(Claim& claim, const char* reason, Orders& orders) const noexcept {
  if (std::exchange(claim.at_risk, true)) return;
  if (terms_.session()) terms_.session_at_risk = true;
  note(orders, Event::Kind::at_risk, token_of(terms_.traits, claim.number, claim.turn), reason);
}

void Gate::in_doubt(Orders& orders) noexcept {
  for (Claim* claim = held_.front(); claim; claim = held_.next(*claim))
    if (claim->state == Claim::State::held) risk(*claim, "session_in_doubt", orders);
}

void Gate::proven(Orders& orders) noexcept {
  for (Claim* claim = held_.front(); claim; claim = held_.next(*claim))
    if (claim->state == Claim::State::held && std::exchange(claim->at_risk, false))
      note(orders, Event::Kind::safe, token_of(terms_.traits, claim->number, claim->turn), "");
}

void Gate::doubt(Hold& hold, const Moment& moment) {
  if (!hold.claim || hold.claim->state != Claim::State::held) return;
  if (hold.claim->renewal_waits || hold.claim->renewals > 0) return;
  if (hold.doubted(moment.wall_ahead)) order(*hold.claim, Claim::Order::renew);
}

}  // namespace holdfast::core
