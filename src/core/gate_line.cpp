// The line of waiters.
#include <new>
#include <utility>

#include "core/gate.hpp"
#include "core/teeth.hpp"

namespace holdfast::core {
namespace {

// Null if memory is short; then the caller gets only the code.
std::unique_ptr<Failure> make_failure(const Cause& cause,
                                      std::shared_ptr<const Holder> holder) noexcept try {
  auto failure = std::make_unique<Failure>();
  failure->problem = {cause.errc, std::string(cause.reason), std::string(cause.text)};
  failure->holder = std::move(holder);
  return failure;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace

void Gate::arrive(Waiter& waiter, const Moment& moment, Orders& orders) {
  waiter.arrived = moment.now;
  if (waiter.left) return settle(waiter, {Errc::cancelled, "cancelled"});
  if (closed_) return settle(waiter, {Errc::cancelled, "closed"});
  if (enter_again(waiter, moment, orders)) return;
  if (refuse_other_kind(waiter)) return;
  if (line_.empty() && !front_)
    for (Claim* claim = held_.front(); claim; claim = held_.next(*claim))
      if (joinable(*claim, waiter, moment) && give(*claim, waiter, moment)) return;

  waiter.state = Waiter::State::in_line;
  line_.push_back(waiter);
  while (mutated(Mutation::last_first) && line_.front() != &waiter)
    line_.push_back(*line_.pop_front());
  if (!waiter.queue) ++triers_;
  look_at_line_ = std::min(look_at_line_, waiter.watched_deadline());
  if (silent()) look_at_line_ = std::min(look_at_line_, moment.now + terms_.patience);
  if (front_ && front_->state != Claim::State::asking) refuse_triers(moment.now);
  pump(moment);
}

void Gate::leave(Waiter& waiter, Errc why, const Moment& moment, Orders&) {
  if (waiter.state == Waiter::State::fresh) waiter.left = true;
  if (waiter.state != Waiter::State::in_line) return;
  if (why == Errc::busy) {
    settle_timed_out(waiter, moment.now);
  } else {
    settle(waiter, {why, "cancelled"});
  }
  withdraw_unwanted(moment);
  pump(moment);
}

void Gate::settle(Waiter& waiter) noexcept {
  if (waiter.state == Waiter::State::in_line && !waiter.queue) --triers_;
  waiter.unlink();
  waiter.state = Waiter::State::settled;
  settled_.push_back(waiter);
}

void Gate::settle(Waiter& waiter, const Cause& cause,
                  std::shared_ptr<const Holder> holder) noexcept {
  waiter.errc = cause.errc;
  waiter.failure = make_failure(cause, std::move(holder));
  settle(waiter);
}

void Gate::settle_timed_out(Waiter& waiter, BootTime now, const Problem* trouble) noexcept {
  if (full()) return settle(waiter, {Errc::busy, "busy"}, local_holder());
  if (silent()) return settle(waiter, cause_of(news_->trouble));
  if (front_ && !news_ && now - waiter.arrived >= least_silence)  // the store has said nothing yet
    return settle(waiter,
                  trouble ? Cause{Errc::unavailable, trouble->reason, trouble->text}
                          : Cause{Errc::unavailable, "silent", "the store did not answer in time"});
  const bool told = news_ && !news_->refusal.reason.empty();
  settle(waiter, told ? cause_of(news_->refusal) : Cause{Errc::busy, "busy"},
         news_ ? news_->holder : nullptr);
}

bool Gate::take_settled(Waiter& waiter) noexcept {
  if (waiter.state != Waiter::State::settled) return false;
  waiter.unlink();
  waiter.delivered.store(true, std::memory_order_release);
  return true;
}

// Waiters that want no place in line get their answer as soon as it is clear that they would wait.
void Gate::refuse_triers(BootTime now) noexcept {
  for (Waiter* waiter = line_.front(); waiter && triers_ > 0;) {
    Waiter* next = line_.next(*waiter);
    if (!waiter->queue) settle_timed_out(*waiter, now);
    waiter = next;
  }
}

void Gate::expire_waiters(const Moment& moment) {
  look_at_line_ = never;
  for (Waiter* waiter = line_.front(); waiter;) {
    Waiter* next = line_.next(*waiter);
    const BootTime patient_until =
        silent() ? std::max(waiter->arrived, news_->silent_since) + terms_.patience : never;
    if (waiter->watched_deadline() <= moment.now) {
      settle_timed_out(*waiter, moment.now);
    } else if (patient_until <= moment.now) {
      settle(*waiter, cause_of(news_->trouble));
    } else {
      look_at_line_ = std::min({look_at_line_, waiter->watched_deadline(), patient_until});
    }
    waiter = next;
  }
  withdraw_unwanted(moment);
}

const Wish* Gate::present_wish() const noexcept {
  if (front_) return front_->wish.get();
  if (const Claim* held = held_.front()) return held->wish.get();
  if (const Waiter* head = line_.front()) return head->wish.get();
  return nullptr;
}

bool Gate::refuse_other_kind(Waiter& waiter) noexcept try {
  const Wish* present = present_wish();
  const Wish& wish = *waiter.wish;
  if (!present || (present->kind == wish.kind && present->capacity == wish.capacity)) return false;
  const auto described = [](const Wish& of) {
    return std::string(to_string(of.kind)) + " of capacity " + std::to_string(of.capacity);
  };
  settle(waiter, {Errc::invalid, "kind_differs",
                  "it is in use as a " + described(*present) + " and was asked for as a " +
                      described(wish)});
  return true;
} catch (const std::bad_alloc&) {
  settle(waiter, {Errc::invalid, "kind_differs"});
  return true;
}

std::shared_ptr<const Holder> Gate::local_holder() const noexcept try {
  const Claim* claim = held_.front();
  if (!claim) return {};
  auto holder = std::make_shared<Holder>();
  holder->name = name_;
  holder->who = std::string(about(*claim->wish));
  holder->token = token_of(terms_.traits, claim->number, claim->turn);
  holder->weight = claim->weight;
  holder->capacity = claim->wish->capacity;
  return holder;
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace holdfast::core
