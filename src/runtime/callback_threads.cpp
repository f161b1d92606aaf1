#include "runtime/callback_threads.hpp"

#include <new>
#include <utility>

#include "runtime/forks.hpp"
#include "runtime/shop.hpp"
#include "runtime/waiting.hpp"

namespace holdfast::detail {

// ── a crew ──────────────────────────────────────────────────────────────────────────────────────

bool Crew::start() noexcept {
  const std::lock_guard guard(mutex_);
  return threads_ > 0 || add_thread(true);
}

bool Crew::add_thread(bool first) noexcept {
  std::thread thread;
  if (!start_thread(thread, name_, [this, first] { run(first); })) return false;
  ++threads_;
  thread.detach();
  return true;
}

void Crew::called(Lock lock) noexcept {
  const bool wake = idle_ && !std::exchange(called_, true);
  const bool busy = !idle_;
  lock.unlock();
  if (wake) some_.notify_one();
  if (busy) watch();
}

// User code may hang. If more work waits and no thread is idle, the timer checks on it.
void Crew::leave_to_user(Lock& lock) noexcept {
  const bool more = waiting() && !idle_;
  lock.unlock();
  if (more) watch();
}

void Crew::watch() noexcept {
  if (!armed()) arm(BootClock::now() + patience);
}

// No thread's user code has returned for a while.
void Crew::due(std::shared_ptr<Timer>) noexcept {
  bool none = false;
  {
    const std::lock_guard guard(mutex_);
    if (!waiting() || idle_ || threads_ >= most_threads_) return;
    none = !add_thread(false);
  }
  if (none) arm(BootClock::now() + until_threads);
}

void Crew::run(bool first) noexcept {
  Lock lock(mutex_);
  for (;;) {
    if (work(lock)) continue;
    if (!first) break;  // it only stood in for a thread that hung
    idle_ = true;
    some_.wait(lock, [&] { return called_; });
    idle_ = called_ = false;
  }
  --threads_;
}

// ── losses ──────────────────────────────────────────────────────────────────────────────────────

LossThreads& LossThreads::shared() { return per_process<LossThreads>(); }

void LossThreads::lost(std::shared_ptr<Hold> hold) noexcept {
  Lock lock(mutex_);
  if (hold->until_told) return;  // it is in the list
  Hold& lost = *hold;
  lost.until_told = std::move(hold);
  losses_.push_back(lost);
  called(std::move(lock));
}

bool LossThreads::work(Lock& lock) {
  Hold* lost = losses_.pop_front();
  if (!lost) return false;
  {
    const auto hold = std::move(lost->until_told);
    leave_to_user(lock);
    hold->loss.request_stop();
  }
  lock.lock();
  return true;
}

// ── coroutines and events ───────────────────────────────────────────────────────────────────────

CallbackThreads& CallbackThreads::shared() { return per_process<CallbackThreads>(); }

void CallbackThreads::resume(core::Waiter& coroutine) noexcept {
  Lock lock(mutex_);
  coroutines_.push_back(coroutine);
  called(std::move(lock));
}

bool CallbackThreads::tell(std::function<void()> event) noexcept {
  Lock lock(mutex_);
  if (events_.size() >= most_events) return false;
  try {
    events_.push_back(std::move(event));
  } catch (const std::bad_alloc&) {
    return false;
  }
  called(std::move(lock));
  return true;
}

bool CallbackThreads::work(Lock& lock) {
  if (core::Waiter* coroutine = coroutines_.pop_front()) {
    leave_to_user(lock);
    resume_here(*static_cast<AsyncWaiter*>(coroutine));
  } else if (!events_.empty() && !telling_) {
    telling_ = true;
    {
      const auto event = std::move(events_.front());
      events_.pop_front();
      leave_to_user(lock);
      event();
    }
    lock.lock();
    telling_ = false;
    return true;
  } else {
    return false;
  }
  lock.lock();
  return true;
}

bool CallbackThreads::waiting() const noexcept {
  return !coroutines_.empty() || (!events_.empty() && !telling_);
}

}  // namespace holdfast::detail
