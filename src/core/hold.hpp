// One handle on a claim, to which a Lease points. A claim has several holds if readers share it or
// if its owner re-entered.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>

#include "core/list.hpp"
#include "core/validity.hpp"

namespace holdfast::core {
struct Claim;
struct OfClaim;
struct OfMourned;
struct OfLosses;
}  // namespace holdfast::core

namespace holdfast::detail {

using core::Nanos;

struct Hold : core::Link<core::OfClaim>,
              core::Link<core::OfMourned>,
              core::Link<core::OfLosses>,
              std::enable_shared_from_this<Hold> {
  enum class State : std::uint8_t { held, lost, released };

  // valid() and left() read these without the gate's mutex; every write is under it.
  std::atomic<std::int64_t> until{0};       // boot clock, nanoseconds; counts while `held`
  std::atomic<std::int64_t> wall_ahead{0};  // when the request left that proved the lease
  std::atomic<State> state{State::held};

  // Fixed when the lease is given out.
  Token token;
  core::Entrant owner;
  const core::Terms* terms = nullptr;
  Nanos margin{};
  Nanos pause_limit{};
  BootTime since;
  BootTime ends = core::never;  // hold_at_most

  // Requires the gate's mutex.
  core::Claim* claim = nullptr;  // null once released
  const char* why_lost = "";
  std::stop_source loss{std::nostopstate};  // made by the first lost()

  // The runtime sets these once, before the lease is given out.
  std::shared_ptr<void> home;  // keeps gate, store and threads alive
  std::uint32_t fork_epoch = 0;
  bool awaited = false;  // got by co_await: its destructor does not wait

  // Requires the mutex of LossThreads. Keeps this alive until they have requested the stop.
  std::shared_ptr<Hold> until_told{};

  BootTime counted_until() const noexcept {
    const BootTime own(Nanos(until.load(std::memory_order_acquire)));
    return terms->session() ? std::min(own, terms->proven_until() - margin) : own;
  }
  // T6: the machine may have been paused, and the boot clock with it.
  bool doubted(Nanos wall_ahead_now) const noexcept {
    return wall_ahead_now - Nanos(wall_ahead.load(std::memory_order_acquire)) > pause_limit;
  }
  bool valid(BootTime now, Nanos wall_ahead_now) const noexcept {
    return state.load(std::memory_order_acquire) == State::held && now < counted_until() &&
           !doubted(wall_ahead_now);
  }
};

}  // namespace holdfast::detail

namespace holdfast::core {
using detail::Hold;
}
