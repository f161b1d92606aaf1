// One of a kind in a process, never destroyed. A forked child gets its own: in the parent's the
// threads are missing and a mutex may be locked for ever.
#pragma once

#include <atomic>

#include "runtime/system.hpp"

namespace holdfast::detail {

// T has a member `epoch`, made as fork_epoch().
template <class T>
T& per_process() {
  static std::atomic<T*> current{nullptr};
  T* found = current.load(std::memory_order_acquire);
  while (!found || found->epoch != fork_epoch()) {
    T* made = new T;
    if (current.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return *made;
    delete made;
  }
  return *found;
}

}  // namespace holdfast::detail
