#include "runtime/hand.hpp"

#include <new>
#include <utility>

#include "runtime/shop.hpp"

namespace holdfast::detail {
namespace {

constexpr Millis nap{5};

}  // namespace

bool Hand::start() noexcept {
  return parker_.can_poll() &&
         start_thread(thread_, "hf-hand", [self = shared_from_this()] { self->run(); });
}

void Hand::stop() noexcept {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  parker_.unpark();
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();  // it dropped the last reference itself, and ends by itself
  } else {
    thread_.join();
  }
}

void Hand::visit(std::shared_ptr<LiveGate> gate) noexcept {
  {
    const std::lock_guard guard(mutex_);
    if (gate->visit_) return;
    LiveGate* last = std::exchange(last_visit_, gate.get());
    (last ? last->next_visit_ : first_visit_) = gate.get();
    gate->visit_ = std::move(gate);
  }
  parker_.unpark();
}

std::shared_ptr<LiveGate> Hand::next_visit() noexcept {
  const std::lock_guard guard(mutex_);
  if (!first_visit_) return nullptr;
  LiveGate* gate = std::exchange(first_visit_, first_visit_->next_visit_);
  gate->next_visit_ = nullptr;
  if (!first_visit_) last_visit_ = nullptr;
  return std::move(gate->visit_);
}

void Hand::renew(LiveClaim& claim) noexcept {
  {
    const std::lock_guard guard(mutex_);
    renewals_.push_back(claim);
  }
  parker_.unpark();
}

void Hand::read_messages(Parker& parker, BootTime until) noexcept {
  if (waiter_reads_.exchange(true)) return parker.park(until);
  ++readings_;
  if (hand_reads_) parker_.unpark();
  parker.park_in(until, true, [&](int wake) { backend_->help(nullptr, until, wake); });
  waiter_reads_ = false;
  if (hand_dozes_) parker_.unpark();
}

// Reads messages, unless waiters do. While waiters come and go it naps, because taking turns with
// them would cost each of them a wake-up.
void Hand::listen() noexcept {
  const BootTime now = BootClock::now();
  if (readings_seen_ != readings_) {
    readings_seen_ = readings_;
    return parker_.park(now + nap);
  }
  hand_dozes_ = true;
  if (waiter_reads_) {
    parker_.park(core::never);
    hand_dozes_ = false;
    return;
  }
  hand_dozes_ = false;
  hand_reads_ = true;
  const BootTime until = now + std::chrono::hours(1);
  if (!waiter_reads_)
    parker_.park_in(until, true, [&](int wake) { backend_->help(nullptr, until, wake); });
  hand_reads_ = false;
}

void Hand::run() noexcept {
  runs_no_user_code = true;
  for (;;) {
    try {
      while (auto gate = next_visit()) {
        helped_.reserve(helped_.size() + 8);
        for (int most = 8; most > 0; --most) {
          const Call* call = nullptr;
          LiveClaim* claim = gate->visit(call);
          if (!claim) break;
          helped_.push_back({gate, claim, call});
        }
      }
      start_rounds();
    } catch (const std::bad_alloc&) {
      // A call that nobody helps is repeated after its deadline.
    }
    {
      const std::lock_guard guard(mutex_);
      if (stopping_) return;
    }
    help();
  }
}

// Allocates first, so that what it takes from the list is sure to be sent.
void Hand::start_rounds() {
  for (;;) {
    rounds_.reserve(rounds_.size() + 1);
    auto round = std::make_unique<Round>();
    round->deadline = BootTime::min();
    {
      const std::lock_guard guard(mutex_);
      while (round->size < round->claims.size() && !renewals_.empty())
        round->claims[round->size++] = renewals_.pop_front();
    }
    if (round->size == 0) return;
    for (std::size_t i = 0; i < round->size; ++i) {
      LiveClaim& claim = *round->claims[i];
      round->keeps[i] = claim.gate.keep(claim, round->sent[i], round->deadline);
    }
    round->claims[0]->gate.shop().counts.renewals += round->size;
    Round& started = *round;
    rounds_.push_back(std::move(round));
    backend_->renew({started.keeps.data(), started.size}, started);
  }
}

void Hand::Round::done(std::span<Answer> answers) noexcept {
  Answer none;
  none.said = Said::no;
  for (std::size_t i = 0; i < size; ++i)
    claims[i]->gate.renewed(*claims[i], sent[i], answers.empty() ? none : answers[i]);
  finished_.store(true, std::memory_order_release);
}

// Helps the oldest call, or reads messages, until there is something to start. Until it sleeps in
// here, unpark() needs no system call to wake it.
void Hand::help() noexcept {
  std::erase_if(rounds_, [](const auto& round) { return round->finished(); });
  std::erase_if(helped_, [](const Helped& helped) {
    if (!helped.call->finished()) return false;
    helped.gate->stand_down(*helped.claim);
    return true;
  });
  const Call* call = nullptr;
  if (!rounds_.empty()) {
    call = rounds_.front().get();
  } else if (!helped_.empty()) {
    call = helped_.front().call;
  }
  if (!call) return listen();
  const BootTime until = BootClock::now() + std::chrono::hours(1);
  parker_.park_in(until, false, [&](int wake) { backend_->help(call, until, wake); });
}

}  // namespace holdfast::detail
