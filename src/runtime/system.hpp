// What the runtime takes from the machine: clocks, randomness, threads, parking, fork.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "core/terms.hpp"

namespace holdfast::detail {

using core::Nanos;

// The wall clock minus the boot clock.
Nanos wall_ahead() noexcept;

// Now, with the calling thread's source of randomness.
core::Moment moment_now() noexcept;

// Raised in the child by fork. What was opened under another epoch belongs to the parent.
std::uint32_t fork_epoch() noexcept;

// A thread with all signals blocked and a name; false if the system has none to give.
bool start_thread(std::thread& thread, const char* name, std::function<void()> body) noexcept;

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
  Bell() noexcept;
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  bool made() const noexcept { return descriptor_ >= 0; }
  int descriptor() const noexcept { return descriptor_; }
  void ring() noexcept;
  void silence() noexcept;

 private:
  int descriptor_;
};

}  // namespace holdfast::detail
