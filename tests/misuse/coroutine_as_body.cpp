// A coroutine returns at its first wait, and that would release the lock.
#include <coroutine>

#include "holdfast/holdfast.hpp"

struct Task {
  std::suspend_never operator co_await() const noexcept { return {}; }
};

void run(const holdfast::Store& store) {
#ifdef HOLDFAST_MISUSE
  (void)store.with_lock("name", {}, [](const holdfast::Lease&) { return Task(); });
#else
  (void)store.with_lock("name", {}, [](const holdfast::Lease&) { return 1; });
#endif
}
