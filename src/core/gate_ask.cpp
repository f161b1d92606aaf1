// The asks for the head of the line, and the store's answers to them.
#include <new>
#include <utility>

#include "core/gate.hpp"
#include "core/teeth.hpp"

namespace holdfast::core {
namespace {

// The pause between trials at a store in trouble.
Nanos back_off(std::uint32_t attempt, Entropy& entropy) {
  const std::uint32_t doublings = std::min(attempt, 6U);
  const Nanos most = std::min<Nanos>(Millis(25) * (1 << doublings), Millis(1000));
  return most / 2 + Nanos(static_cast<std::int64_t>(entropy.draw() %
                                                    static_cast<std::uint64_t>(most.count() / 2)));
}

// The slow pace at which a waiter asks again in case its message was lost: ttl/2 ± 25 %.
Nanos slow_pace(Millis ttl, Entropy& entropy) {
  const Nanos half = Nanos(ttl) / 2;
  return half - half / 4 +
         Nanos(static_cast<std::int64_t>(entropy.draw() %
                                         static_cast<std::uint64_t>(half.count() / 2 + 1)));
}

ClaimId fresh_id(Entropy& entropy) {
  ClaimId id;
  for (std::size_t i = 0; i < id.size(); i += 8) {
    const std::uint64_t bits = entropy.draw();
    for (std::size_t j = 0; j < 8; ++j) id[i + j] = static_cast<std::uint8_t>(bits >> (8 * j));
  }
  return id;
}

}  // namespace

bool Gate::serves(const Claim& claim, const Waiter& waiter) const noexcept {
  const Wish& wish = *waiter.wish;
  return claim.weight == wish.weight && claim.wish->kind == wish.kind &&
         claim.wish->capacity == wish.capacity && claim.wish->purpose == wish.purpose &&
         claim.wish->lock_delay == wish.lock_delay && wish.ttl <= claim.wish->ttl;
}

bool Gate::wanted(const Claim& claim) const noexcept {
  const Waiter* head = line_.front();
  return head && serves(claim, *head);
}

void Gate::pump(const Moment& moment) {
  while (!front_) {
    Waiter* head = line_.front();
    if (!head) return;
    if (full()) return refuse_triers(moment.now);
    // Before the store has our release, this ask would only wait behind our own claim.
    if (head->wish->exclusive() && releasing_ > 0 && !terms_.traits.ordered) return;
    ask_for(*head, moment);
  }
}

void Gate::ask_for(Waiter& head, const Moment& moment) {
  Claim* claim = make_claim();
  if (!claim) return settle(head, {Errc::unavailable, "resource", "out of memory"});
  const Wish& wish = *head.wish;
  claim->wish = head.wish;
  claim->id = fresh_id(moment.entropy);
  if (mutated(Mutation::withdrawn_id) && !owed_.empty()) claim->id = owed_.front()->id;
  claim->weight = wish.weight;
  claim->ttl = wish.ttl;
  Ask& ask = claim->attempt->ask;
  ask.name = name_;
  ask.claim = claim->id;
  ask.kind = wish.kind;
  ask.capacity = wish.capacity;
  ask.weight = wish.weight;
  ask.ttl = wish.ttl;
  ask.lock_delay = wish.lock_delay;
  ask.purpose = wish.purpose;
  ask.queue = head.queue;
  ask.fair = wish.fair;
  ask.about = about(wish);
  name_orphan(ask);
  front_ = claim;
  order(*claim, Claim::Order::ask);
}

// Names an owed claim that the store may still have. The store drops it in the same step, so no
// process waits behind its own orphan. One whose first release is on the way needs no naming.
void Gate::name_orphan(Ask& ask) const noexcept {
  if (ask.instead_ttl > Millis(0)) return;
  for (Claim* owed = owed_.front(); owed; owed = owed_.next(*owed)) {
    if (owed->releasing) continue;
    ask.instead = owed->id;
    ask.instead_ttl = owed->drop.ttl;
    return;
  }
}

void Gate::answered(Claim& claim, const Answer& answer, const Moment& moment, Orders& orders) {
  claim.asking = false;
  if (mutated(Mutation::validity_from_answer)) claim.sent_at = moment.now;
  // A refusal with the store's time came from the store itself, so it executed the whole step.
  const bool executed = answer.said == Said::yes || answer.said == Said::queued ||
                        answer.said == Said::gone ||
                        (answer.said == Said::no && answer.store_us != 0);
  if (executed) {
    settle_replaced(claim);
    note_silence(nullptr, moment);
  }
  switch (answer.said) {
    case Said::yes:
      hold_from(claim, end_of(claim.sent_at, answer.ttl, terms_.traits.granularity), answer.number,
                answer.ttl, moment, orders);
      break;
    case Said::queued: stand_in_line(claim, answer, moment, orders); break;
    case Said::no: refused(claim, answer, moment); break;
    case Said::gone:
      claim.placed = answer.problem.reason == "revoked";  // it stays there until it is dropped
      fail_served(claim,
                  {Errc::lost, "entry_deleted", "its place in line was deleted at the store"});
      forget_front(moment);
      break;
    case Said::unknown:
      claim.doubtful = true;
      unanswered(claim, answer.problem, moment);
      break;
  }
  pump(moment);
}

void Gate::stand_in_line(Claim& claim, const Answer& answer, const Moment& moment, Orders& orders) {
  claim.state = Claim::State::queued;
  claim.placed = true;
  Attempt& attempt = *claim.attempt;
  attempt.answered_at = claim.sent_at;
  attempt.answered_us = answer.store_us;
  note_holder(answer);
  Nanos pace = slow_pace(claim.wish->ttl, moment.entropy);
  if (!terms_.traits.notifies) {
    ++claim.attempts;
    pace = std::min<Nanos>(pace, delay(claim, moment));
  }
  if (answer.ttl > Millis(0)) pace = std::min<Nanos>(pace, answer.ttl + Millis(1));
  if (mutated(Mutation::polling)) pace = Millis(5);
  claim.next_at = moment.now + pace;
  refuse_triers(moment.now);
  if (!wanted(claim)) return withdraw_unwanted(moment);
  if (attempt.early) return handed(claim, moment, orders);
  if (std::exchange(attempt.look_again, false) || rare(Rare::ask_though_queued))
    order(claim, Claim::Order::ask);
}

void Gate::refused(Claim& claim, const Answer& answer, const Moment& moment) {
  if (answer.problem.errc == Errc::unavailable) return unanswered(claim, answer.problem, moment);
  if (answer.problem.errc != Errc::busy) {
    fail_served(claim, cause_of(answer.problem));
    return forget_front(moment);
  }
  claim.placed = false;
  note_holder(answer);
  if (claim.attempt->ask.queue) {
    pause(claim, delay(claim, moment), moment);
    refuse_triers(moment.now);
    return withdraw_unwanted(moment);
  }
  Waiter* head = line_.front();
  if (head && !head->queue && serves(claim, *head)) settle_timed_out(*head, moment.now);
  forget_front(moment);
}

// The store did not answer, or cannot serve now. Repeats the same ask while somebody waits.
void Gate::unanswered(Claim& claim, const Problem& problem, const Moment& moment) noexcept {
  const bool hurried = claim.attempt->hurried && claim.answer_by <= moment.now;
  if (!hurried) note_silence(&problem, moment);
  Waiter* head = line_.front();
  if (!head || !serves(claim, *head)) return forget_front(moment);
  const bool in_time = !head->queue || head->deadline > moment.now;
  if (in_time && mutated(Mutation::ask_anew)) {
    claim.id = claim.attempt->ask.claim = fresh_id(moment.entropy);
    claim.doubtful = false;
  }
  name_orphan(claim.attempt->ask);
  // A waiter's own deadline cut this ask off, which says nothing about the store, so ask at once.
  if (hurried && in_time) return order(claim, Claim::Order::ask);
  if (head->queue && in_time) {
    pause(claim, back_off(claim.attempts, moment.entropy), moment);
    return refuse_triers(moment.now);
  }
  if (head->queue) {
    settle_timed_out(*head, moment.now, &problem);
  } else {
    settle(*head, {Errc::unavailable, problem.reason, problem.text});
  }
  forget_front(moment);
}

// The pause before the next trial at a store that sends no messages.
Nanos Gate::delay(const Claim& claim, const Moment& moment) const noexcept {
  const Attempt& attempt = *claim.attempt;
  return attempt.delay ? *attempt.delay : terms_.delay(attempt.trial, moment.entropy.draw());
}

void Gate::pause(Claim& claim, Nanos delay, const Moment& moment) {
  claim.state = Claim::State::pausing;
  claim.next_at = moment.now + (rare(Rare::pause_longer) ? 3 * delay : delay);
  ++claim.attempts;
}

void Gate::fail_served(Claim& claim, const Cause& cause) noexcept {
  for (Waiter* waiter = line_.front(); waiter && serves(claim, *waiter);) {
    Waiter* next = line_.next(*waiter);
    settle(*waiter, cause);
    waiter = next;
  }
}

void Gate::note_silence(const Problem* problem, const Moment& moment) noexcept {
  if (!problem) {
    if (news_) news_->silent_since = never;
    return;
  }
  if (!news_) news_.reset(new (std::nothrow) News);
  if (!news_) return;
  try {
    news_->trouble = {Errc::unavailable, problem->reason, problem->text};
  } catch (const std::bad_alloc&) {
    news_->trouble.errc = Errc::unavailable;
  }
  if (news_->silent_since != never) return;
  news_->silent_since = moment.now;
  look_at_line_ = std::min(look_at_line_, moment.now + terms_.patience);
}

void Gate::note_holder(const Answer& answer) noexcept try {
  if (!news_) news_ = std::make_unique<News>();
  news_->holder = answer.holder ? std::make_shared<const Holder>(*answer.holder) : nullptr;
  news_->refusal = answer.problem.reason == "held" ? Problem{} : answer.problem;
} catch (const std::bad_alloc&) {
  // The holder is only shown to users; nothing depends on it.
}

// The store executed the ask, so it has dropped the claim that the ask named as replaced.
void Gate::settle_replaced(const Claim& by) {
  const Ask& ask = by.attempt->ask;
  if (ask.instead_ttl == Millis(0)) return;
  for (Claim* owed = owed_.front(); owed; owed = owed_.next(*owed))
    if (owed->id == ask.instead) return retire(*owed);
}

void Gate::withdraw_unwanted(const Moment& moment) {
  if (front_ && !front_->asking && !wanted(*front_)) forget_front(moment);
}

void Gate::forget_front(const Moment& moment) {
  if ((front_->doubtful || front_->placed) && !mutated(Mutation::no_withdrawal))
    return owe(*front_, front_->doubtful, moment.now, moment);
  retire(*std::exchange(front_, nullptr));
}

void Gate::granted(const ClaimId& id, const Answer& answer, const Moment& moment, Orders& orders) {
  if (!front_ || front_->id != id || rare(Rare::lose_grant)) return;
  Claim& claim = *front_;
  Attempt& attempt = *claim.attempt;
  attempt.early = !mutated(Mutation::early_grant_dropped) || !claim.asking;
  attempt.early_us = answer.store_us;
  attempt.early_ttl = answer.ttl;
  attempt.early_number = answer.number;
  if (claim.state == Claim::State::queued && !claim.asking) {
    handed(claim, moment, orders);
    pump(moment);
  } else if (claim.state == Claim::State::pausing) {
    order(claim, Claim::Order::ask);
  }
}

void Gate::look(const Moment&, Orders&) {
  if (!front_ || rare(Rare::lose_look)) return;
  if (front_->asking || front_->state == Claim::State::asking) {
    front_->attempt->look_again = true;
  } else {
    order(*front_, Claim::Order::ask);
  }
}

}  // namespace holdfast::core
