// Loaded into a server by LD_PRELOAD (see skewed_clock.hpp): its wall clock is ahead by as many
// nanoseconds as the mapped file says. No allocation and no dlsym, for jemalloc asks for the time
// before either works.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

const volatile std::int64_t* mapped() {
  static const volatile std::int64_t* ahead = nullptr;
  static bool tried = false;
  if (tried) return ahead;
  const char* path = ::getenv("HOLDFAST_TEST_CLOCK");
  if (!path) return nullptr;
  tried = true;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* memory = ::mmap(nullptr, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (memory != MAP_FAILED) ahead = static_cast<const volatile std::int64_t*>(memory);
  return ahead;
}

void skew(timespec& time) {
  constexpr std::int64_t second = 1'000'000'000;
  const auto* ahead = mapped();
  if (!ahead) return;
  const std::int64_t all = time.tv_sec * second + time.tv_nsec + *ahead;
  time = {all / second, all % second};
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) skew(*time);
  return result;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (time) *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* time) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (time) *time = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
