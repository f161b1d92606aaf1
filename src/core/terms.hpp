// What the gate decides from: the store's terms, a caller's wish, and the moment.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include "holdfast/backend.hpp"
#include "holdfast/options.hpp"

namespace holdfast::core {

using Nanos = std::chrono::nanoseconds;
inline constexpr BootTime never = BootTime::max();

// The caller supplies the randomness, so that a seed can replay a run.
class Entropy {
 public:
  virtual std::uint64_t draw() noexcept = 0;

 protected:
  ~Entropy() = default;
};

struct Moment {
  BootTime now;
  Nanos wall_ahead{};  // wall clock minus boot clock; shows a pause that the boot clock missed
  Entropy& entropy;
};

// The same for all gates of an open store.
struct Terms {
  Traits traits;
  Millis patience{};
  NextDelay next_delay;  // for stores that send no notification
  std::string about;     // this process as others see it: host, process, program
  // Session stores: until when the session is proven alive, in nanoseconds of the boot clock.
  std::atomic<std::int64_t> session_end{BootTime::max().time_since_epoch().count()};
  mutable std::atomic<bool> session_at_risk{false};  // some gate reported it since the last proof

  // The user's next_delay may throw; that must not end the wait.
  Nanos delay(std::uint32_t attempt, std::uint64_t random) const noexcept try {
    return std::max(Nanos(next_delay(attempt, random)), Nanos(0));
  } catch (...) {
    return Millis(50);
  }
  bool session() const noexcept { return traits.validity != Validity::claim; }
  BootTime proven_until() const noexcept {
    return BootTime(Nanos(session_end.load(std::memory_order_acquire)));
  }
  // True if the gates must hear of it, because one of them had reported a risk.
  bool prove_until(BootTime end) noexcept {
    const std::int64_t later = end.time_since_epoch().count();
    std::int64_t before = session_end.load(std::memory_order_relaxed);
    while (before < later &&
           !session_end.compare_exchange_weak(before, later, std::memory_order_release)) {
    }
    return before < later && session_at_risk.exchange(false);
  }
  Millis ttl_of(Millis asked) const noexcept { return session() ? traits.session : asked; }
};

// What one Lock asks for; waiters point to it.
struct Wish {
  Kind kind = Kind::mutex;
  std::uint32_t capacity = 1;
  std::uint32_t weight = 1;
  Millis ttl{};
  Millis hold_at_most = forever;
  Millis lock_delay{};
  Nanos margin{};  // between lost() and the end of the lease
  Purpose purpose{};
  bool fair = true;
  std::string about;  // with the label; empty: Terms::about

  friend bool operator==(const Wish&, const Wish&) = default;
  bool exclusive() const noexcept { return weight == capacity; }
  bool shared() const noexcept { return kind == Kind::rw && weight < capacity; }
};

// Who may re-enter: a thread's number or an Owner's bytes. Zero: nobody.
struct Entrant {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool nobody() const noexcept { return high == 0 && low == 0; }
  friend bool operator==(const Entrant&, const Entrant&) = default;
};

}  // namespace holdfast::core
