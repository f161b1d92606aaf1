// 0.1 + 0.2 and 0.3 would be two locks.
#include "holdfast/holdfast.hpp"

void run(const holdfast::Store& store) {
  const auto sell = holdfast::locked(store, "stock/{}", [](auto) {});
#ifdef HOLDFAST_MISUSE
  (void)sell(0.5);
#else
  (void)sell(5);
#endif
}
