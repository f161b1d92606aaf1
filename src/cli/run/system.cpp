#include "cli/run/system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <string>

#include "cli/failure.hpp"

namespace holdfast::cli {
namespace {

constexpr std::int64_t second = 1'000'000'000;

int checked(int descriptor, const char* what) {
  if (descriptor == -1) refused(what);
  return descriptor;
}

}  // namespace

void refused(const char* what) {
  throw Failure{exit_code::internal, "resource", std::string(what) + ": " + std::strerror(errno)};
}

void Descriptor::close() noexcept {
  if (number_ != -1) ::close(std::exchange(number_, -1));
}

std::int64_t boot_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * second + now.tv_nsec;
}

BootTimer::BootTimer()
    : timer_(checked(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK), "timer")) {}

void BootTimer::arm(std::int64_t at) noexcept {
  at = std::max<std::int64_t>(at, 1);  // 0 would disarm it
  const itimerspec due{{}, {at / second, at % second}};
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &due, nullptr);
}

Flag::Flag() : event_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "event")) {}

void Flag::raise() const noexcept { ::eventfd_write(event_.get(), 1); }

bool ends_a_process(int signal) noexcept {
  switch (signal) {
    case SIGCHLD:
    case SIGCONT:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGURG:
    case SIGWINCH: return false;
    default: return true;
  }
}

sigset_t only(int signal) noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  return set;
}

Descriptor signals_of(const sigset_t& set) {
  return Descriptor(checked(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signals"));
}

int next_signal(int descriptor) noexcept {
  signalfd_siginfo info{};
  return ::read(descriptor, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                               : 0;
}

// exec left these open, so they do not have FD_CLOEXEC. Without /proc, tries the numbers that a
// shell can pass.
std::vector<int> inherited_descriptors() {
  std::vector<int> found;
  const auto look_at = [&](int number) {
    const int flags = number > STDERR_FILENO ? ::fcntl(number, F_GETFD) : -1;
    if (flags != -1 && (flags & FD_CLOEXEC) == 0) found.push_back(number);
  };
  if (DIR* folder = ::opendir("/proc/self/fd")) {
    while (const dirent* entry = ::readdir(folder)) {
      int number = -1;
      std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), number);
      look_at(number);
    }
    ::closedir(folder);
  } else {
    for (int number = 0; number < 1024; ++number) look_at(number);
  }
  std::ranges::sort(found);
  return found;
}

void close_all_but(std::span<const int> kept, int how) noexcept {
  unsigned from = STDERR_FILENO + 1;
  for (const int number : kept) {
    const auto next = static_cast<unsigned>(number);
    if (next > from) ::close_range(from, next - 1, how);
    from = next + 1;
  }
  ::close_range(from, ~0U, how);
}

}  // namespace holdfast::cli
