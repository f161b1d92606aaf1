// What belongs to one process and not to its forked children. Each store's library has a copy.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::detail {

// Counts the forks between the process that loaded us and this one. What was opened under another
// epoch belongs to the parent.
std::uint32_t fork_epoch() noexcept;

// The one T of this process, never destroyed. A forked child makes its own, because its copy of the
// parent's has no threads, and may have a mutex that is locked for ever.
template <class T>
T& per_process() {
  struct Own {
    const std::uint32_t epoch = fork_epoch();
    T value{};
  };
  static std::atomic<Own*> current{nullptr};
  Own* seen = current.load(std::memory_order_acquire);
  while (!seen || seen->epoch != fork_epoch()) {
    Own* made = new Own;
    if (current.compare_exchange_strong(seen, made, std::memory_order_acq_rel)) return made->value;
    delete made;
  }
  return seen->value;
}

}  // namespace holdfast::detail
