// The guard would refer to a lock that is gone.
#include <mutex>

#include "holdfast/holdfast.hpp"

void run(const holdfast::Store& store) {
#ifdef HOLDFAST_MISUSE
  const std::lock_guard guard(store.lock("name"));
#else
  auto lock = store.lock("name");
  const std::lock_guard guard(lock);
#endif
}
