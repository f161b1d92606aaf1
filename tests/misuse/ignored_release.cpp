// Only release() can tell whether the lease had ended before.
#pragma GCC diagnostic error "-Wunused-result"
#include "holdfast/holdfast.hpp"

void run(holdfast::Lease& lease) {
#ifdef HOLDFAST_MISUSE
  lease.release();
#else
  (void)lease.release();
#endif
}
