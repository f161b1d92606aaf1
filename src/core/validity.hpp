// How long a grant counts. Every choice errs on the short side: it counts from before the request
// left, less the drift between two clocks, the store's granularity and a margin to react in.
#pragma once

#include <algorithm>

#include "core/terms.hpp"

namespace holdfast::core {

// The library trusts two clocks to agree on a duration within 1 %.
constexpr Nanos less_drift(Nanos span) { return span - span / 100; }
constexpr Nanos with_drift(Nanos span) { return span + span / 100; }

constexpr Nanos default_margin(Millis ttl) { return std::max<Nanos>(Millis(50), Nanos(ttl) / 20); }

// If the store grants a shorter lease than was asked for, the margin shrinks in proportion, because
// the renewal is due earlier too.
constexpr Nanos margin_of(Nanos margin, Millis asked, Millis granted) {
  return granted < asked ? margin * granted.count() / asked.count() : margin;
}

// The end of a lease that a request sent at `sent` asked for or renewed.
constexpr BootTime end_of(BootTime sent, Millis ttl, Millis granularity) {
  return sent + less_drift(ttl) - granularity;
}

// The end of a lease that a message granted. It counts from our last answered ask plus the
// difference between the store's two times, but never from later than now.
constexpr BootTime end_of_handed(BootTime asked, Nanos stamps_apart, BootTime now, Millis ttl,
                                 Millis granularity) {
  return end_of(std::min(asked + less_drift(stamps_apart), now), ttl, granularity);
}

// After a third of the ttl, or a little before: rounded down, so that leases of one ttl are due at
// the same moments and many of them travel in one request.
constexpr BootTime renew_at(BootTime counted_from, Millis ttl) {
  const Nanos step = std::max<Nanos>(Nanos(ttl) / 30, Nanos(1));
  const BootTime latest = counted_from + Nanos(ttl) / 3;
  return latest - latest.time_since_epoch() % step;
}
constexpr Nanos renew_again_after(Millis ttl) { return Nanos(ttl) / 12; }

// The pace at which an unanswered renewal is sent again. The answer to any of them counts.
constexpr Nanos resend_after(Millis ttl) {
  return std::clamp<Nanos>(Nanos(ttl) / 6, Millis(100), Millis(5000));
}

// A wall clock that ran ahead of the boot clock by this much means that the machine was paused.
constexpr Nanos pause_limit(Millis ttl) { return std::max<Nanos>(Millis(1000), Nanos(ttl) / 10); }

// How long one request may take before its outcome is called unknown. A wait shorter than
// least_silence does not prove that a store is silent.
inline constexpr Nanos least_silence = Millis(500);
constexpr Nanos answer_within(Millis ttl) {
  return std::clamp<Nanos>(Nanos(ttl) / 3, least_silence, Millis(5000));
}

// Handover inside the process: at most this long in a row; then the store's line comes first.
inline constexpr Nanos handover_time = Millis(10);
inline constexpr std::uint64_t turns = 1024;  // token = number × turns + turn

constexpr Token token_of(const Traits& traits, std::uint64_t number, std::uint32_t turn) {
  if (!traits.tokens) return {};
  return {traits.bare_tokens ? number : number * turns + turn};
}

}  // namespace holdfast::core
