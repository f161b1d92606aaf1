#include "stores/common/courier.hpp"

#include <algorithm>

namespace holdfast::stores {

// ── calls ────────────────────────────────────────────────────────────────────────────────────────

bool Courier::Open::answered() const noexcept {
  const std::lock_guard lock(courier_.mutex_);
  return !open_;
}

void Courier::Open::sent() noexcept {
  const std::lock_guard lock(courier_.mutex_);
  sent_ = true;
}

void Courier::Open::trouble(Problem problem) noexcept {
  const std::lock_guard lock(courier_.mutex_);
  std::swap(trouble_, problem);
}

void Courier::enter(std::shared_ptr<Open> open) {
  const std::lock_guard lock(mutex_);
  open->place_ = open_.size();
  open_.push_back(open);
  open->entered_ = true;
}

// The request has been copied, so its deadline may end the call from now on.
void Courier::begun(Open& open) noexcept {
  Seats::Rung rung;
  const std::lock_guard lock(mutex_);
  open.begun_ = true;
  if (!open.open_ || deadline_ <= open.deadline_) return;
  deadline_ = open.deadline_;
  if (!carrying_) keep_watch(rung);
}

std::shared_ptr<Courier::Open> Courier::close(Open& open) noexcept {
  if (!std::exchange(open.open_, false)) return nullptr;
  std::shared_ptr<Open> closed = std::move(open_[open.place_]);
  if (open.place_ + 1 != open_.size()) {
    open_[open.place_] = std::move(open_.back());
    open_[open.place_]->place_ = open.place_;
  }
  open_.pop_back();
  return closed;
}

void Courier::give_up_overdue(BootTime now) noexcept {
  deadline_ = BootTime::max();
  for (std::size_t i = open_.size(); i-- > 0;) {
    Open& open = *open_[i];
    if (!open.begun_) continue;
    if (open.deadline_ > now) {
      deadline_ = std::min(deadline_, open.deadline_);
      continue;
    }
    add(give_up(open, std::move(open.trouble_)));
  }
}

std::shared_ptr<Courier::Open> Courier::give_up(Open& open, Problem problem) noexcept {
  auto closed = close(open);
  if (closed) open.give_up(open.sent_ ? Said::unknown : Said::no, std::move(problem));
  return closed;
}

// ── delivery ─────────────────────────────────────────────────────────────────────────────────────

void Courier::add(std::shared_ptr<Letter> letter) noexcept {
  Letter* added = letter.get();
  (first_ ? last_->next_ : first_) = std::move(letter);
  last_ = added;
}

void Courier::put_down(std::shared_ptr<Letter> letter, const Call* call,
                       Seats::Rung& rung) noexcept {
  if (letter) add(std::move(letter));
  if (!carrying_) ring_one(call, rung);
}

// Wakes the thread that waits for the call; else one that stays for messages; else any.
void Courier::ring_one(const Call* call, Seats::Rung& rung) noexcept {
  Seats::Seat* found = nullptr;
  if (call) found = seats_.find([&](const auto& seat) { return seat.call() == call; });
  if (!found) found = seats_.find([](const auto& seat) { return !seat.call(); });
  if (!found) found = seats_.find([](const auto&) { return true; });
  if (found) rung.set(*found);
}

// Some thread must wake when the next tick or deadline is due: if all sleep longer, wakes one.
void Courier::keep_watch(Seats::Rung& rung) noexcept {
  const BootTime due = std::min(tick_due_, deadline_);
  if (!seats_.find([&](const auto& seat) { return seat.wakes_at <= due; })) ring_one(nullptr, rung);
}

// True if it delivered anything. Only one thread delivers at a time, so the order is kept.
bool Courier::carry(std::unique_lock<std::mutex>& lock) noexcept {
  if (carrying_) return false;
  bool any = false;
  carrying_ = true;
  for (;;) {
    const BootTime now = BootClock::now();
    if (deadline_ <= now) give_up_overdue(now);
    if (has_letters()) {
      any = true;
      carry_all(lock);
    } else if (tick_due_ <= now) {
      run_tick(lock, now);
    } else {
      break;
    }
  }
  carrying_ = false;
  return any;
}

void Courier::carry_all(std::unique_lock<std::mutex>& lock) noexcept {
  if (std::exchange(missed_, false)) {
    lock.unlock();
    hints_.look({});
    lock.lock();
  }
  while (first_) {
    std::shared_ptr<Letter> letter = std::move(first_);
    first_ = std::move(letter->next_);
    lock.unlock();
    letter->hand_over();
    letter.reset();
    lock.lock();
    seats_.ring_finished();
  }
}

void Courier::run_tick(std::unique_lock<std::mutex>& lock, BootTime now) noexcept {
  tick_due_ = BootTime::max();
  lock.unlock();
  const BootTime next = tick_(now);
  lock.lock();
  tick_due_ = std::min(tick_due_, next);
}

void Courier::tick_at(BootTime at) noexcept {
  Seats::Rung rung;
  const std::lock_guard lock(mutex_);
  if (at >= tick_due_) return;
  tick_due_ = at;
  if (!carrying_) keep_watch(rung);
}

// ── helping ──────────────────────────────────────────────────────────────────────────────────────

void Courier::help(const Call* call, BootTime until, int wake) noexcept {
  Seats::Rung rung;
  std::unique_lock lock(mutex_);
  for (bool awake = true;;) {
    const bool told = carry(lock);
    const bool done = call ? call->finished() : told;
    if (done || !awake || BootClock::now() >= until) return keep_watch(rung);
    Seats::Seat seat(seats_, call);
    seat.wakes_at = carrying_ ? until : std::min({until, tick_due_, deadline_});
    lock.unlock();
    awake = seat.sleep(seat.wakes_at, wake);
    lock.lock();
    seat.leave();
  }
}

}  // namespace holdfast::stores
