// Loaded into another program by LD_PRELOAD (see skewed_clock.hpp): moves its clocks ahead by the
// nanoseconds in the mapped file. With HOLDFAST_TEST_LEAK in its environment it also leaves a
// descriptor open, as a careless library would.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include "support/moved_clock.hpp"

namespace holdfast::support {
namespace {

const volatile ClockAhead* mapped() noexcept {
  static const volatile ClockAhead* ahead = nullptr;
  static bool tried = false;
  if (tried) return ahead;
  const char* path = ::getenv("HOLDFAST_TEST_CLOCK");
  if (!path) return nullptr;
  tried = true;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* memory = ::mmap(nullptr, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (memory != MAP_FAILED) ahead = static_cast<const volatile ClockAhead*>(memory);
  return ahead;
}

// The test writes into the file without telling us, so a thread polls it.
void* watch(void*) {
  std::int64_t known = clock_ahead().slept_ns;
  for (;;) {
    set_all_timers_again();
    const timespec pause{0, 5'000'000};
    while (clock_ahead().slept_ns == known) ::nanosleep(&pause, nullptr);
    known = clock_ahead().slept_ns;
  }
}

std::atomic<pid_t> watched = 0;  // the process that has a watch; a forked child has none yet

}  // namespace

ClockAhead clock_ahead() noexcept {
  const auto* ahead = mapped();
  if (!ahead) return {};
  return {ahead->wall_ns, ahead->slept_ns};
}

// The watch blocks all signals, because they are meant for the program.
void before_a_timer_is_set() noexcept {
  const pid_t self = ::getpid();
  if (!mapped() || watched.exchange(self) == self) return;
  if (::getenv("HOLDFAST_TEST_LEAK")) (void)::open("/dev/null", O_RDONLY);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  // While another thread is in exec, none can be made; that thread ends all others in a moment.
  for (int tries = 0; ::pthread_create(&thread, nullptr, watch, nullptr) != 0; ++tries) {
    if (tries == 5'000) ::abort();
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace holdfast::support
