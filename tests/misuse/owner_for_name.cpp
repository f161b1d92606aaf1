#include "holdfast/holdfast.hpp"

void run(const holdfast::Store& store, holdfast::Owner owner) {
#ifdef HOLDFAST_MISUSE
  (void)store.lock(owner);
#else
  (void)store.lock("name", {.owner = owner});
#endif
}
