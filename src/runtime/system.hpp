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

// A thread's identity for re-entry: never reused.
core::Entrant this_thread() noexcept;

// Where a thread sleeps. Recycled and never freed, so a late wake-up hits no dead stack.
class Parker {
 public:
  static Parker& mine();               // of the calling thread
  void park(BootTime until) noexcept;  // until unparked or then; may return early
  void unpark() noexcept;

 private:
  friend struct ParkerLease;
  std::atomic<std::int32_t> state_{0};
  Parker* next_free_ = nullptr;
};

// An eventfd: a wake-up that can be polled.
class Bell {
 public:
  Bell() = default;
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  bool make() noexcept;  // before its first use; false: no descriptor to be had
  int descriptor() const noexcept { return descriptor_; }
  void ring() noexcept;
  void silence() noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace holdfast::detail
