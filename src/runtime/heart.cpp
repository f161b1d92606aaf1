#include "runtime/heart.hpp"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "runtime/forks.hpp"

namespace holdfast::detail {
namespace {
BootTime at(const std::atomic<std::int64_t>& nanos) {
  return BootTime(Nanos(nanos.load(std::memory_order_relaxed)));
}
}  // namespace

Heart& Heart::beat() { return per_process<Heart>(); }

bool Heart::start() noexcept {
  const std::lock_guard guard(mutex_);
  if (started_) return true;
  if (timer_descriptor_ < 0)
    timer_descriptor_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (timer_descriptor_ < 0 || !bell_.make()) return false;
  started_ = start_thread(thread_, "hf-heart", [this] { run(); });
  return started_;
}

void Heart::run() noexcept {
  runs_no_user_code = true;
  for (;;) sleep_until(fire_due());
}

// Fires each timer that is due, with no mutex held; returns when to look again.
BootTime Heart::fire_due() noexcept {
  for (;;) {
    std::shared_ptr<Timer> target;
    {
      const std::lock_guard guard(mutex_);
      const BootTime first = heap_.empty() ? core::never : at(heap_[0]->when_);
      if (first > BootClock::now()) return sleeping_until_ = first;
      Timer& timer = *heap_[0];
      target = timer.stay();
      remove(timer);
    }
    if (target) {
      Timer& timer = *target;
      timer.due(std::move(target));
    }
  }
}

void Heart::sleep_until(BootTime when) noexcept {
  itimerspec alarm{};
  if (when != core::never) {
    const auto nanos = std::max<std::int64_t>(when.time_since_epoch().count(), 1);
    alarm.it_value.tv_sec = static_cast<time_t>(nanos / 1'000'000'000);
    alarm.it_value.tv_nsec = static_cast<long>(nanos % 1'000'000'000);
  }
  ::timerfd_settime(timer_descriptor_, TFD_TIMER_ABSTIME, &alarm, nullptr);
  pollfd both[2] = {{timer_descriptor_, POLLIN, 0}, {bell_.descriptor(), POLLIN, 0}};
  ::poll(both, 2, -1);
  if (both[1].revents) bell_.silence();
}

// ── the heap: the earliest first; each timer knows its position ─────────────────────────────────

void Heart::put(std::size_t position, Timer* timer) noexcept {
  heap_[position] = timer;
  timer->position_ = position;
}

void Heart::rise(std::size_t position) noexcept {
  Timer* timer = heap_[position];
  while (position > 0 && at(heap_[(position - 1) / 2]->when_) > at(timer->when_)) {
    put(position, heap_[(position - 1) / 2]);
    position = (position - 1) / 2;
  }
  put(position, timer);
}

void Heart::sink(std::size_t position) noexcept {
  Timer* timer = heap_[position];
  for (;;) {
    std::size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && at(heap_[child + 1]->when_) < at(heap_[child]->when_)) ++child;
    if (at(heap_[child]->when_) >= at(timer->when_)) break;
    put(position, heap_[child]);
    position = child;
  }
  put(position, timer);
}

void Heart::remove(Timer& timer) noexcept {
  const std::size_t position = timer.position_;
  Timer* last = heap_.back();
  heap_.pop_back();
  timer.position_ = Timer::nowhere;
  timer.when_.store(INT64_MAX, std::memory_order_relaxed);
  if (last == &timer) return;
  put(position, last);
  rise(position);
  sink(last->position_);
}

Timer::Timer() : heart_(Heart::beat()) {}
Timer::~Timer() = default;

void Timer::disarm() noexcept {
  if (heart_.epoch != fork_epoch()) return;  // it is the parent's
  const std::lock_guard guard(heart_.mutex_);
  if (position_ != nowhere) heart_.remove(*this);
}

bool Timer::arm(BootTime when) noexcept {
  if (when >= at(when_)) return true;
  bool poke = false;
  {
    const std::lock_guard guard(heart_.mutex_);
    if (when >= at(when_)) return true;
    if (position_ == nowhere) {
      try {
        heart_.heap_.push_back(this);
      } catch (const std::bad_alloc&) {
        return false;
      }
      position_ = heart_.heap_.size() - 1;
    }
    when_.store(when.time_since_epoch().count(), std::memory_order_relaxed);
    heart_.rise(position_);
    poke = when < heart_.sleeping_until_;
    if (poke) heart_.sleeping_until_ = when;
  }
  if (poke) heart_.bell_.ring();
  return true;
}

}  // namespace holdfast::detail
