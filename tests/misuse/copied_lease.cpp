#include "holdfast/holdfast.hpp"

void run(holdfast::Lease& lease) {
#ifdef HOLDFAST_MISUSE
  const holdfast::Lease other = lease;
#else
  const holdfast::Lease other = std::move(lease);
#endif
}
