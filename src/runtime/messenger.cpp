#include "runtime/messenger.hpp"

#include <condition_variable>
#include <exception>
#include <new>
#include <utility>

#include "runtime/forks.hpp"
#include "runtime/waiting.hpp"

namespace holdfast::detail {

Messenger& Messenger::shared() { return per_process<Messenger>(); }

bool Messenger::start() noexcept {
  const std::lock_guard guard(mutex_);
  if (threads_ > 0) return true;
  std::thread thread;
  if (!start_thread(thread, "hf-messenger", [this] { run(true); })) return false;
  ++threads_;
  thread.detach();
  return true;
}

void Messenger::lost(std::shared_ptr<Hold> hold) noexcept {
  std::unique_lock lock(mutex_);
  try {
    losses_.push_back(hold);
  } catch (const std::bad_alloc&) {
    lock.unlock();
    hold->loss.request_stop();  // better on this thread than never
    return;
  }
  called(std::move(lock));
}

void Messenger::resume(core::Waiter& coroutine) noexcept {
  std::unique_lock lock(mutex_);
  coroutines_.push_back(coroutine);
  called(std::move(lock));
}

bool Messenger::tell(std::function<void()> event) noexcept {
  std::unique_lock lock(mutex_);
  if (events_.size() >= most_events) return false;
  try {
    events_.push_back(std::move(event));
  } catch (const std::bad_alloc&) {
    return false;
  }
  called(std::move(lock));
  return true;
}

void Messenger::called(std::unique_lock<std::mutex> lock) noexcept {
  const bool wake = idle_ && !std::exchange(called_, true);
  const bool watch = !idle_ && threads_ < most_threads;
  lock.unlock();
  if (wake) some_.notify_one();
  if (watch && !armed()) arm(BootClock::now() + patience);
}

void Messenger::due(std::shared_ptr<Timer>) noexcept {
  const std::lock_guard guard(mutex_);
  if (!waiting() || idle_ || threads_ >= most_threads) return;
  std::thread thread;
  if (!start_thread(thread, "hf-messenger", [this] { run(false); })) return;
  ++threads_;
  thread.detach();
}

void Messenger::run(bool first) noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (work(lock)) continue;
    if (!first) break;  // it came to stand in for one that hung
    idle_ = true;
    some_.wait(lock, [&] { return called_; });
    idle_ = called_ = false;
  }
  --threads_;
}

// Takes one piece of work and does it with no mutex held. Losses first: they are urgent.
bool Messenger::work(std::unique_lock<std::mutex>& lock) {
  if (!losses_.empty()) {
    const auto hold = std::move(losses_.front());
    losses_.pop_front();
    leave_to_user(lock);
    hold->loss.request_stop();
  } else if (core::Waiter* coroutine = coroutines_.pop_front()) {
    leave_to_user(lock);
    static_cast<AsyncWaiter*>(coroutine)->handle.resume();
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

// User code may hang: if more is waiting and nobody is idle, somebody looks after it.
void Messenger::leave_to_user(std::unique_lock<std::mutex>& lock) noexcept {
  const bool watch = waiting() && !idle_ && threads_ < most_threads;
  lock.unlock();
  if (watch && !armed()) arm(BootClock::now() + patience);
}

bool Messenger::waiting() const noexcept {
  return !coroutines_.empty() || !losses_.empty() || (!events_.empty() && !telling_);
}

}  // namespace holdfast::detail
