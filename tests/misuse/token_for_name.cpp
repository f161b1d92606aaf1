#include "holdfast/holdfast.hpp"

void run(const holdfast::Store& store, const holdfast::Lease& lease) {
#ifdef HOLDFAST_MISUSE
  (void)store.lock(lease.token());
#else
  (void)store.lock(std::to_string(lease.token().value));
#endif
}
