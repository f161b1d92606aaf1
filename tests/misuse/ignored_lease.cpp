// It would be released at the end of the statement.
#pragma GCC diagnostic error "-Wunused-result"
#include "holdfast/holdfast.hpp"

void run(const holdfast::Lock& lock) {
#ifdef HOLDFAST_MISUSE
  lock.acquire();
#else
  const auto lease = lock.acquire();
#endif
}
