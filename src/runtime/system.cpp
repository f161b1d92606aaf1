#include "runtime/system.hpp"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <mutex>
#include <system_error>
#include <utility>

#include "runtime/forks.hpp"

namespace holdfast::detail {
namespace {

Nanos read_clock(clockid_t clock) noexcept {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + Nanos(time.tv_nsec);
}

// The kernel's randomness, because a claim id is a capability. Fetched 256 bytes at a time.
class KernelEntropy final : public core::Entropy {
 public:
  std::uint64_t draw() noexcept override {
    if (left_ == 0 || epoch_ != fork_epoch()) refill();
    return words_[--left_];
  }

 private:
  void refill() noexcept {
    auto* bytes = reinterpret_cast<char*>(words_.data());
    for (std::size_t got = 0; got < sizeof words_;) {
      const auto read = ::getrandom(bytes + got, sizeof words_ - got, 0);
      if (read > 0) got += static_cast<std::size_t>(read);
    }
    left_ = words_.size();
    epoch_ = fork_epoch();
  }
  std::array<std::uint64_t, 32> words_{};
  std::size_t left_ = 0;
  std::uint32_t epoch_ = 0;
};

}  // namespace

thread_local bool runs_no_user_code = false;

// It must show a pause of a second, so a clock that is right to a few milliseconds will do, at a
// fraction of the cost.
Nanos wall_ahead() noexcept {
  return read_clock(CLOCK_REALTIME_COARSE) - read_clock(CLOCK_BOOTTIME);
}

core::Moment moment_now() noexcept {
  static thread_local KernelEntropy entropy;
  const BootTime now = BootClock::now();
  return {now, read_clock(CLOCK_REALTIME_COARSE) - now.time_since_epoch(), entropy};
}

SignalsBlocked::SignalsBlocked() noexcept {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}
SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

core::Entrant this_thread() noexcept {
  static std::atomic<std::uint64_t> last{0};
  static thread_local const std::uint64_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return {0, number};
}

// ── parking ─────────────────────────────────────────────────────────────────────────────────────

namespace {
struct Parkers {
  std::mutex mutex;
  Parker* free = nullptr;
};
}  // namespace

struct ParkerLease {
  Parker* parker;
  ParkerLease() {
    auto& parkers = per_process<Parkers>();
    const std::lock_guard guard(parkers.mutex);
    parker = parkers.free ? std::exchange(parkers.free, parkers.free->next_free_) : new Parker;
  }
  ~ParkerLease() {
    auto& parkers = per_process<Parkers>();
    const std::lock_guard guard(parkers.mutex);
    parker->next_free_ = std::exchange(parkers.free, parker);
  }
};

Parker& Parker::mine() {
  static thread_local ParkerLease lease;
  return *lease.parker;
}

namespace {
constexpr std::int32_t empty = 0;
constexpr std::int32_t notified = 1;
constexpr std::int32_t parked = -1;
constexpr std::int32_t polling = -2;
constexpr std::int32_t looking = -3;  // polling; its own unpark() needs no ring
}  // namespace

void Parker::park(BootTime until) noexcept {
  std::int32_t expected = empty;
  if (!state_.compare_exchange_strong(expected, parked, std::memory_order_acquire)) {
    state_.exchange(empty, std::memory_order_acquire);
    return;
  }
  timespec limit{};
  timespec* timeout = nullptr;
  if (until != core::never) {
    const Nanos left = std::max(until - BootClock::now(), Nanos(0));
    limit.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
    timeout = &limit;
  }
  ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, parked, timeout, nullptr, 0);
  state_.exchange(empty, std::memory_order_acquire);
}

int Parker::begin_polling(bool looks) noexcept {
  if (!bell_.make()) return -1;
  if (rings_ > 0) rings_ -= std::min(rings_, bell_.silence());
  sleeper_.store(::pthread_self(), std::memory_order_relaxed);
  std::int32_t expected = empty;
  const bool begun = state_.compare_exchange_strong(expected, looks ? looking : polling,
                                                    std::memory_order_acq_rel);
  return begun ? bell_.descriptor() : -1;
}

void Parker::end_polling() noexcept {
  const bool unparked = state_.exchange(empty, std::memory_order_acquire) == notified;
  if (!std::exchange(unparked_itself_, false) && unparked) ++rings_;
}

void Parker::unpark() noexcept {
  const std::int32_t was = state_.exchange(notified, std::memory_order_acq_rel);
  if (was == parked) {
    ::syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  } else if (was == looking && sleeper_.load(std::memory_order_relaxed) == ::pthread_self()) {
    unparked_itself_ = true;
  } else if (was == polling || was == looking) {
    bell_.ring();
  }
}

// ── bells ───────────────────────────────────────────────────────────────────────────────────────

bool Bell::make() noexcept {
  if (descriptor_ >= 0 && epoch_ == fork_epoch()) return true;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoch_ = fork_epoch();
  return descriptor_ >= 0;
}
Bell::~Bell() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
void Bell::ring() noexcept {
  const std::uint64_t one = 1;
  while (::write(descriptor_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}
std::uint64_t Bell::silence() noexcept {
  std::uint64_t count = 0;
  while (::read(descriptor_, &count, sizeof count) < 0 && errno == EINTR) {
  }
  return count;
}

}  // namespace holdfast::detail
