// A bare line of futexes: the least that a handover between threads needs. It is first come first
// served, and a thread that leaves wakes the next. It has no name, no token, no lease, no deadline
// and no way to leave the line.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace bench {

class FutexLine {
 public:
  struct alignas(64) Seat {
    std::atomic<std::uint32_t> turn{0};
    Seat* next = nullptr;
  };

  void enter(Seat& seat) {
    lock();
    if (!held_) {
      held_ = true;
      return unlock();
    }
    seat.next = nullptr;
    seat.turn.store(0, std::memory_order_relaxed);
    (first_ ? last_->next : first_) = &seat;
    last_ = &seat;
    unlock();
    while (seat.turn.load(std::memory_order_acquire) == 0)
      ::syscall(SYS_futex, &seat.turn, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
  void leave() {
    lock();
    Seat* const next = first_;
    if (next)
      first_ = next->next;
    else
      held_ = false;
    unlock();
    if (!next) return;
    next->turn.store(1, std::memory_order_release);
    ::syscall(SYS_futex, &next->turn, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  void lock() {
    for (int spins = 0; busy_.exchange(true, std::memory_order_acquire); ++spins)
      if (spins >= 50) ::sched_yield();
  }
  void unlock() { busy_.store(false, std::memory_order_release); }

  std::atomic<bool> busy_{false};
  bool held_ = false;
  Seat* first_ = nullptr;
  Seat* last_ = nullptr;
};

}  // namespace bench
