// stores/common/seats.hpp: where threads sleep inside help().
//
// Taking, ringing and leaving a seat requires the mutex of the object that owns the seats. A Rung
// rings once that mutex is free, because a thread woken earlier would only wait for the mutex.
#pragma once

#include <memory>
#include <utility>

#include "holdfast/backend.hpp"

namespace holdfast::stores {

// Wakes a sleeping thread. Not a condition variable, because the thread also waits for `wake`.
class Bell {
 public:
  Bell() noexcept;
  explicit constexpr Bell(int fd) noexcept : fd_(fd), epoch_(0) {}
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  // Shared, because another thread may ring it after this thread has ended.
  static std::shared_ptr<Bell> of_this_thread() noexcept;
  int fd() const noexcept { return fd_; }
  void ring() noexcept;
  void hush() noexcept;

 private:
  int fd_;
  std::uint64_t epoch_;
};

class Seats {
 public:
  class Seat {
   public:
    // `call`: what the thread waits for; null: it stays for messages.
    Seat(Seats& seats, const Call* call) noexcept
        : seats_(seats), call_(call), next_(std::exchange(seats.first_, this)) {}
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    void leave() noexcept;
    // False if `wake` became readable. `messages`: another descriptor that ends the sleep, or -1.
    bool sleep(BootTime until, int wake, int messages = -1) const noexcept;

    const Call* call() const noexcept { return call_; }
    void ring() noexcept {
      if (!std::exchange(rung_, true)) bell_->ring();
    }

    BootTime wakes_at = BootTime::max();  // even without a ring

   private:
    friend class Seats;
    Seats& seats_;
    const Call* call_;
    Seat* next_;
    const std::shared_ptr<Bell> bell_ = Bell::of_this_thread();
    bool rung_ = false;
  };

  // Rings a seat in its destructor. Declare it before the lock, so that it rings after unlocking.
  class Rung {
   public:
    Rung() = default;
    Rung(const Rung&) = delete;
    Rung& operator=(const Rung&) = delete;
    ~Rung() {
      if (bell_) bell_->ring();
    }
    void set(Seat& seat) noexcept {
      if (!std::exchange(seat.rung_, true)) bell_ = seat.bell_;
    }

   private:
    std::shared_ptr<Bell> bell_;
  };

  template <class Fits>
  Seat* find(Fits&& fits) const noexcept {
    for (Seat* seat = first_; seat; seat = seat->next_)
      if (fits(*seat)) return seat;
    return nullptr;
  }
  template <class Fits>
  void ring_all(Fits&& fits) const noexcept {
    for (Seat* seat = first_; seat; seat = seat->next_)
      if (fits(*seat)) seat->ring();
  }
  void ring_finished() const noexcept {
    ring_all([](const Seat& seat) { return seat.call() && seat.call()->finished(); });
  }

 private:
  Seat* first_ = nullptr;
};

}  // namespace holdfast::stores
