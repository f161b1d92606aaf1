// The heart: one thread a process, timers and nothing else. It calls no store and no user code, so
// nothing can make a loss late but the scheduler.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/system.hpp"

namespace holdfast::detail {

class Heart;

// Something whose time comes.
class Timer {
 public:
  Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Only ever brings the time forward: one that fires early finds nothing to do and arms anew.
  // False: no memory.
  bool arm(BootTime when) noexcept;
  bool armed() const noexcept { return when_.load(std::memory_order_relaxed) != INT64_MAX; }

  // A reference that keeps it alive meanwhile; null if it is about to end.
  virtual std::shared_ptr<Timer> stay() noexcept = 0;
  // Its time has come. Takes that reference along, so that nothing ever ends on the heart.
  virtual void due(std::shared_ptr<Timer> self) noexcept = 0;

 protected:
  ~Timer();
  void disarm() noexcept;  // to be called before what stay() needs is gone

 private:
  friend class Heart;
  static constexpr std::size_t nowhere = SIZE_MAX;
  Heart& heart_;
  std::atomic<std::int64_t> when_{INT64_MAX};
  std::size_t position_ = nowhere;  // in the heart's heap
};

class Heart {
 public:
  static Heart& beat();   // of this process
  bool start() noexcept;  // false: no thread to be had
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
