// tests/support/eventually.hpp: how tests deal with time. They wait for a condition, never for a
// length of time in the hope that something happens meanwhile. Bounds are generous, because they
// only end a test that has failed.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "holdfast/result.hpp"

namespace holdfast::support {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// Fewer rounds in builds in which each takes ten times as long.
constexpr int scaled(int rounds) { return sanitized ? std::max(1, rounds / 10) : rounds; }

inline constexpr Millis patient{sanitized ? 120'000 : 40'000};

// A release that must be confirmed is confirmed by then, even if the machine stalls for a while.
inline constexpr Millis release_deadline{10'000};

// Long enough for a store to answer busy, too short to call the store silent.
inline constexpr Millis shortly{400};

// Looks less and less often, because each look costs the servers time.
template <class Condition>
bool eventually(Condition&& condition, Millis bound = patient) {
  const auto deadline = std::chrono::steady_clock::now() + bound;
  for (Millis pause{1}; !condition(); pause = std::min(pause * 2, Millis(16))) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace holdfast::support
