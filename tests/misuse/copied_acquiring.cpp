// It contains a place in line, which must not move.
#include "holdfast/holdfast.hpp"

void run(const holdfast::Lock& lock) {
  auto acquiring = lock.acquire_async();
#ifdef HOLDFAST_MISUSE
  auto other = std::move(acquiring);
#else
  auto& other = acquiring;
#endif
  (void)other;
}
