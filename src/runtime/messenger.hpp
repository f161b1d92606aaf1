// The messenger: runs user code and nothing else: stop callbacks of lost(), events, and coroutines
// that have no executor of their own. One thread a process, a few more while a callback hangs.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "core/waiter.hpp"
#include "holdfast/options.hpp"
#include "runtime/heart.hpp"

namespace holdfast::detail {

class Messenger final : public Timer {
 public:
  static Messenger& shared();  // of this process
  bool start() noexcept;       // false: no thread to be had

  void lost(std::shared_ptr<Hold> hold) noexcept;  // requests its stop
  void resume(core::Waiter& coroutine) noexcept;   // needs no memory
  // In order, one at a time; false if the queue is full and the event was dropped.
  bool tell(std::function<void()> event) noexcept;

  std::shared_ptr<Timer> stay() noexcept override { return {std::shared_ptr<void>(), this}; }
  void due(std::shared_ptr<Timer> self) noexcept override;  // something hangs: one more thread

 private:
  void run(bool first) noexcept;
  bool work(std::unique_lock<std::mutex>& lock);
  void leave_to_user(std::unique_lock<std::mutex>& lock) noexcept;
  bool waiting() const noexcept;
  void called(std::unique_lock<std::mutex> lock) noexcept;

  static constexpr std::size_t most_events = 10'000;
  static constexpr int most_threads = 4;
  static constexpr Millis patience{10};

  std::mutex mutex_;
  std::condition_variable some_;
  core::List<core::Waiter, core::OfLine> coroutines_;
  std::deque<std::shared_ptr<Hold>> losses_;
  std::deque<std::function<void()>> events_;
  bool telling_ = false;  // events are told one at a time
  int threads_ = 0;
  bool idle_ = false;    // the first thread sleeps …
  bool called_ = false;  // … and was called: once is enough
};

}  // namespace holdfast::detail
