#include "holdfast/holdfast.hpp"

void run(const holdfast::Store& store, const holdfast::LockName& name) {
#ifdef HOLDFAST_MISUSE
  (void)store.lock(name, {.owner = name});
#else
  (void)store.lock(name, {.owner = holdfast::Owner::fresh()});
#endif
}
