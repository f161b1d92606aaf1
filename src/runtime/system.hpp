// What the runtime takes from the machine: clocks, randomness, threads, parking, fork.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "core/terms.hpp"
#include "runtime/forks.hpp"

namespace holdfast::detail {

using core::Nanos;

// The wall clock minus the boot clock.
Nanos wall_ahead() noexcept;

// Now, with the calling thread's source of randomness.
core::Moment moment_now() noexcept;

// While one lives, the calling thread and the threads that it starts have all signals blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// A thread with a name and all signals blocked; false if the system gave no thread.
template <class Body>
bool start_thread(std::thread& thread, const char* name, Body body) noexcept try {
  const SignalsBlocked blocked;
  thread = std::thread([name, body = std::move(body)] {
    ::pthread_setname_np(::pthread_self(), name);
    body();
  });
  return true;
} catch (const std::exception&) {
  return false;
}

// True on the timer thread and store threads. All leases depend on them, so they never call
// StoreOptions::resume, which may block.
extern thread_local bool runs_no_user_code;

// A thread's identity for re-entry: never reused.
core::Entrant this_thread() noexcept;

// An eventfd: a wake-up that can be polled.
class Bell {
 public:
  Bell() = default;
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  bool make() noexcept;  // call it before use in this process; false: no descriptor is left
  int descriptor() const noexcept { return descriptor_; }
  void ring() noexcept;
  std::uint64_t silence() noexcept;  // returns how often it was rung

 private:
  int descriptor_ = -1;
  std::uint32_t epoch_ = 0;  // a forked child must not take its parent's rings
};

// Where a thread sleeps. Those of callers are reused and never freed, so that a late wake-up hits
// no dead stack.
class Parker {
 public:
  static Parker& mine();               // of the calling thread
  void park(BootTime until) noexcept;  // until unparked or then; may return early

  // The same, but sleeps in sleep(descriptor), which returns soon after the descriptor becomes
  // readable. `looks`: it also returns after anything in it that may have unparked this thread, so
  // that such an unpark() needs no system call.
  template <class Sleep>
  void park_in(BootTime until, bool looks, Sleep&& sleep) noexcept {
    const int descriptor = begin_polling(looks);
    if (descriptor < 0) return park(until);
    sleep(descriptor);
    end_polling();
  }
  bool can_poll() noexcept { return bell_.make(); }  // else park_in() is park()
  void unpark() noexcept;

 private:
  friend struct ParkerLease;
  int begin_polling(bool looks) noexcept;  // -1: already unparked, or no descriptor is left
  void end_polling() noexcept;

  std::atomic<std::int32_t> state_{0};
  std::atomic<pthread_t> sleeper_{};
  Bell bell_;                     // made at its first use
  std::uint64_t rings_ = 0;       // rings that came or are on their way, not yet read
  bool unparked_itself_ = false;  // so no ring will come
  Parker* next_free_ = nullptr;
};

}  // namespace holdfast::detail
