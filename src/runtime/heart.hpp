// The timer thread, one per process. It calls no store and no user code, so only the scheduler can
// make a loss late.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/system.hpp"

namespace holdfast::detail {

class Heart;

// Anything that the timer thread calls at a given time.
class Timer {
 public:
  Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Can only make it fire earlier: a timer that fires too early finds nothing to do and arms itself
  // again. False: out of memory.
  bool arm(BootTime when) noexcept;
  bool armed() const noexcept { return when_.load(std::memory_order_relaxed) != INT64_MAX; }

  // A reference that keeps it alive during due(); null if its destruction has begun.
  virtual std::shared_ptr<Timer> stay() noexcept = 0;
  // Its time has come. It passes that reference on, so that nothing is destroyed on this thread.
  virtual void due(std::shared_ptr<Timer> self) noexcept = 0;

 protected:
  ~Timer();
  void disarm() noexcept;  // call it before what stay() needs is destroyed

 private:
  friend class Heart;
  static constexpr std::size_t nowhere = SIZE_MAX;
  Heart& heart_;
  std::atomic<std::int64_t> when_{INT64_MAX};
  std::size_t position_ = nowhere;  // in Heart::heap_
};

class Heart {
 public:
  static Heart& beat();   // of this process
  bool start() noexcept;  // false: the system gave no thread or descriptor
  const std::uint32_t epoch = fork_epoch();

 private:
  friend class Timer;
  void run() noexcept;
  BootTime fire_due() noexcept;
  void sleep_until(BootTime when) noexcept;
  void put(std::size_t position, Timer* timer) noexcept;
  void rise(std::size_t position) noexcept;
  void sink(std::size_t position) noexcept;
  void remove(Timer& timer) noexcept;

  std::mutex mutex_;
  std::vector<Timer*> heap_;
  BootTime sleeping_until_ = core::never;
  bool started_ = false;
  Bell bell_;
  int timer_descriptor_ = -1;
  std::thread thread_;
};

}  // namespace holdfast::detail
