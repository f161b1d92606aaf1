// Callback threads run user code and nothing else. There are two crews, because lost() must not
// wait for a coroutine or an event handler. One requests the stop of lost leases. The other calls
// StoreOptions::resume, resumes the coroutines of stores without it, and runs event handlers.
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

// One thread, and more while its user code does not return and other work waits.
class Crew : public Timer {
 public:
  bool start() noexcept;  // false: the system gave no thread

  std::shared_ptr<Timer> stay() noexcept override { return {std::shared_ptr<void>(), this}; }
  void due(std::shared_ptr<Timer> self) noexcept override;

 protected:
  using Lock = std::unique_lock<std::mutex>;
  Crew(const char* name, int most_threads) : name_(name), most_threads_(most_threads) {}
  ~Crew() = default;

  // Does one piece of work, with no mutex held; false: there is none.
  virtual bool work(Lock& lock) = 0;
  virtual bool waiting() const noexcept = 0;  // there is work that another thread could do

  void called(Lock lock) noexcept;          // call it when there is more to do
  void leave_to_user(Lock& lock) noexcept;  // unlocks, because user code follows

  std::mutex mutex_;

 private:
  bool add_thread(bool first) noexcept;
  void run(bool first) noexcept;
  void watch() noexcept;

  static constexpr Millis patience{10};         // until user code counts as hung
  static constexpr Millis until_threads{1000};  // before it tries again to start a thread

  const char* const name_;
  const int most_threads_;
  std::condition_variable some_;
  int threads_ = 0;
  bool idle_ = false;    // the first thread sleeps …
  bool called_ = false;  // … and is already being woken
};

// Requests the stop of lost leases. Has so many threads that no callback delays another.
class LossThreads final : public Crew {
 public:
  static LossThreads& shared();  // of this process
  LossThreads() : Crew("hf-losses", 256) {}
  void lost(std::shared_ptr<Hold> hold) noexcept;  // needs no memory

 private:
  bool work(Lock& lock) override;
  bool waiting() const noexcept override { return !losses_.empty(); }

  core::List<Hold, core::OfLosses> losses_;
};

class CallbackThreads final : public Crew {
 public:
  static CallbackThreads& shared();  // of this process
  CallbackThreads() : Crew("hf-callbacks", 4) {}

  void resume(core::Waiter& coroutine) noexcept;  // by its store's StoreOptions::resume, if set
  // In order, one at a time; false if the queue is full and the event was dropped.
  bool tell(std::function<void()> event) noexcept;

 private:
  bool work(Lock& lock) override;
  bool waiting() const noexcept override;

  static constexpr std::size_t most_events = 10'000;

  core::List<core::Waiter, core::OfLine> coroutines_;
  std::deque<std::function<void()>> events_;
  bool telling_ = false;  // an event handler runs; the next event waits for it
};

}  // namespace holdfast::detail
