// stores/common/seats.hpp: where threads sleep inside help().
//
// A seat is taken and left under the mutex of whoever owns the seats, and its sleeper is rung under
// that mutex too, unlike all other wake-ups here: a sleeper may leave, and close its bell, as soon
// as it can have the mutex.
#pragma once

#include <utility>

#include "holdfast/backend.hpp"

namespace holdfast::stores {

// What a sleeping thread is woken by. A condition variable could not wait for `wake` as well.
class Bell {
 public:
  Bell() noexcept;
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  static Bell& of_this_thread() noexcept;
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
    // `call`: what it stands behind; null: stays for messages.
    Seat(Seats& seats, const Call* call) noexcept
        : seats_(seats), call_(call), next_(std::exchange(seats.first_, this)) {}
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    void leave() noexcept;
    // False if `wake` turned readable. `messages`: another descriptor that ends the sleep, or -1.
    bool sleep(BootTime until, int wake, int messages = -1) const noexcept;

    const Call* call() const noexcept { return call_; }
    void ring() noexcept {
      if (!std::exchange(rung_, true)) bell_.ring();
    }

    BootTime wakes_at = BootTime::max();  // by itself

   private:
    friend class Seats;
    Seats& seats_;
    const Call* call_;
    Seat* next_;
    Bell& bell_ = Bell::of_this_thread();
    bool rung_ = false;
  };

  // The first that fits, or null.
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
