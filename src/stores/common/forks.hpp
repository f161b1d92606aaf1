// stores/common/forks.hpp: what belongs to one process and not to its forked children.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::stores {

// Counts the forks between the process that loaded us and this one.
std::uint64_t fork_epoch() noexcept;

// The one T of this process. What a child inherits may be locked by a thread that it does not have,
// so the child leaves it alone and makes its own; none is ever destroyed.
template <class T>
T& per_process() {
  struct Own {
    std::uint64_t epoch = 0;
    T value;
  };
  static std::atomic<Own*> current{nullptr};
  for (;;) {
    Own* seen = current.load(std::memory_order_acquire);
    if (seen && seen->epoch == fork_epoch()) return seen->value;
    Own* made = new Own{fork_epoch(), {}};
    if (current.compare_exchange_strong(seen, made, std::memory_order_acq_rel)) return made->value;
    delete made;
  }
}

}  // namespace holdfast::stores
