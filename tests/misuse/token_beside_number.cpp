#include "holdfast/holdfast.hpp"

bool newer(const holdfast::Lease& lease, holdfast::Token last) {
#ifdef HOLDFAST_MISUSE
  return lease.token() > last.value;
#else
  return lease.token() > last;
#endif
}
