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

// While one lives, the calling thread, and what it starts, has all signals blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// A thread with all signals blocked and a name; false if the system has none to give.
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

// Timer and store threads: all leases depend on them, so they never wait for the user.
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
  bool make() noexcept;  // before its use in this process; false: no descriptor to be had
  int descriptor() const noexcept { return descriptor_; }
  void ring() noexcept;
  std::uint64_t silence() noexcept;  // how often it was rung

 private:
  int descriptor_ = -1;
  std::uint32_t epoch_ = 0;  // a forked child must not take its parent's rings
};

// Where a thread sleeps. Those of callers are recycled and never freed, so a late wake-up hits no
// dead stack.
class Parker {
 public:
  static Parker& mine();               // of the calling thread
  void park(BootTime until) noexcept;  // until unparked or then; may return early

  // The same, but asleep in sleep(descriptor), which returns soon after the descriptor turned
  // readable. `looks`: also after anything that may have unparked the thread from inside; then that
  // costs no system call.
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
  int begin_polling(bool looks) noexcept;  // -1: already unparked, or no descriptor to be had
  void end_polling() noexcept;

  std::atomic<std::int32_t> state_{0};
  std::atomic<pthread_t> sleeper_{};
  Bell bell_;                     // made at its first use
  std::uint64_t rings_ = 0;       // that came or are on their way, and are not read yet
  bool unparked_itself_ = false;  // without a ring
  Parker* next_free_ = nullptr;
};

}  // namespace holdfast::detail
