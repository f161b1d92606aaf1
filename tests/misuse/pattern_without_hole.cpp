// All calls would share one lock, whatever their arguments.
#include "holdfast/holdfast.hpp"

auto sell(const holdfast::Store& store) {
#ifdef HOLDFAST_MISUSE
  return holdfast::locked(store, "stock", [](int) {});
#else
  return holdfast::locked(store, "stock/{}", [](int) {});
#endif
}
