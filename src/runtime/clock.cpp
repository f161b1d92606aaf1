// The boot clock runs on during suspend, and nobody can set it.
#include <time.h>

#include "holdfast/backend.hpp"

namespace holdfast {

BootTime BootClock::now() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return BootTime(std::chrono::seconds(time.tv_sec) + duration(time.tv_nsec));
}

}  // namespace holdfast
