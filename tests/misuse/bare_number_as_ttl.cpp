#include "holdfast/holdfast.hpp"

void run(const holdfast::Store& store) {
#ifdef HOLDFAST_MISUSE
  (void)store.lock("name", {.ttl = 30});
#else
  (void)store.lock("name", {.ttl = std::chrono::seconds(30)});
#endif
}
