#include "support/moved_clock.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <ctime>

namespace holdfast::support {
namespace {

constexpr std::int64_t second = 1'000'000'000;

std::int64_t nanos(const timespec& time) { return time.tv_sec * second + time.tv_nsec; }
timespec spec(std::int64_t nanos) { return {nanos / second, nanos % second}; }

// Does what libc's syscall does, because ours replaces it. The arguments are plain values, because
// a call in between, such as a sanitizer's check of a read, would overwrite the registers.
long enter_kernel(long number, long a, long b, long c, long d, long e, long f) noexcept {
#if defined(__x86_64__)
  long result = number;
  register long fourth asm("r10") = d;
  register long fifth asm("r8") = e;
  register long sixth asm("r9") = f;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long result asm("x0") = a;
  register long second_one asm("x1") = b;
  register long third asm("x2") = c;
  register long fourth asm("x3") = d;
  register long fifth asm("x4") = e;
  register long sixth asm("x5") = f;
  register long what asm("x8") = number;
  asm volatile("svc 0"
               : "+r"(result)
               : "r"(second_one), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth), "r"(what)
               : "memory");
#else
#error "say here how a system call is made"
#endif
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

std::int64_t ahead(clockid_t clock) noexcept {
  const ClockAhead by = clock_ahead();
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: return by.slept_ns + by.wall_ns;
    case CLOCK_BOOTTIME: return by.slept_ns;
    default: return 0;
  }
}

timespec wall() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

// When each timer is due, by the clock that the program sees; 0: never. All our timers use the boot
// clock and absolute times.
std::array<std::atomic<std::int64_t>, 4096> due_at;

int set_timer(int timer, int flags, std::int64_t due, itimerspec* before) noexcept {
  itimerspec value{};
  if (due != 0) value.it_value = spec(std::max<std::int64_t>(due - clock_ahead().slept_ns, 1));
  return static_cast<int>(::syscall(SYS_timerfd_settime, timer, flags, &value, before));
}

}  // namespace

void set_all_timers_again() noexcept {
  for (std::size_t timer = 0; timer < due_at.size(); ++timer)
    if (const auto due = due_at[timer].load(); due != 0)
      set_timer(static_cast<int>(timer), TFD_TIMER_ABSTIME, due, nullptr);
}

}  // namespace holdfast::support

using namespace holdfast::support;

extern "C" {

long syscall(long number, ...) noexcept {
  std::array<long, 6> with{};
  const timespec* fourth = nullptr;
  va_list all, again;
  va_start(all, number);
  va_copy(again, all);
  for (long& each : with) each = va_arg(all, long);
  for (int place = 0; place < 3; ++place) static_cast<void>(va_arg(again, long));
  fourth = va_arg(again, const timespec*);
  va_end(again);
  va_end(all);
  const bool waits_by_wall_clock =
      number == SYS_futex && (with[1] & FUTEX_CLOCK_REALTIME) != 0 && fourth != nullptr;
  const auto enter = [&] {
    return enter_kernel(number, with[0], with[1], with[2], with[3], with[4], with[5]);
  };
  if (!waits_by_wall_clock) return enter();
  const timespec by_kernels_clock =
      spec(std::max<std::int64_t>(nanos(*fourth) - ahead(CLOCK_REALTIME), 0));
  with[3] = reinterpret_cast<long>(&by_kernels_clock);
  return enter();
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (::syscall(SYS_clock_gettime, clock, now) != 0) return -1;
  if (const auto by = ahead(clock); by != 0) *now = spec(nanos(*now) + by);
  return 0;
}

int gettimeofday(timeval* now, void*) noexcept {
  const timespec exact = wall();
  *now = {exact.tv_sec, exact.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* now) noexcept {
  const time_t seconds = wall().tv_sec;
  if (now != nullptr) *now = seconds;
  return seconds;
}

int timerfd_settime(int timer, int flags, const itimerspec* value, itimerspec* before) noexcept {
  const bool known = timer >= 0 && static_cast<std::size_t>(timer) < due_at.size();
  if ((flags & TFD_TIMER_ABSTIME) == 0 || !known)
    return static_cast<int>(::syscall(SYS_timerfd_settime, timer, flags, value, before));
  before_a_timer_is_set();
  const auto due = nanos(value->it_value);
  due_at[static_cast<std::size_t>(timer)] = due;
  // Sets it again if there was a jump in between, because that jump may have missed this timer.
  for (;;) {
    const auto slept = clock_ahead().slept_ns;
    const int result = set_timer(timer, flags, due, before);
    if (result != 0 || slept == clock_ahead().slept_ns) return result;
  }
}

}  // extern "C"
