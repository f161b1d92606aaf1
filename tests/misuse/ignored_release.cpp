// Whether the lease had ended before is the one thing that release() can tell.
#pragma GCC diagnostic error "-Wunused-result"
#include "holdfast/holdfast.hpp"

void run(holdfast::Lease& lease) {
#ifdef HOLDFAST_MISUSE
  lease.release();
#else
  (void)lease.release();
#endif
}
