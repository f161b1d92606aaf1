#include "holdfast/holdfast.hpp"

auto sell(const holdfast::Store& store) {
#ifdef HOLDFAST_MISUSE
  return holdfast::locked(store, "stock/{}/{x}", [](int) {});
#else
  return holdfast::locked(store, "stock/{}/x", [](int) {});
#endif
}
