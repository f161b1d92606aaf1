// tests/support/results.hpp: assertions about results and about what a store lists.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "holdfast/holdfast.hpp"
#include "support/eventually.hpp"

namespace holdfast::support {

template <class T>
testing::AssertionResult succeeded(const Result<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << result.error().what() << " (" << result.error().reason() << ")";
}

template <class T>
testing::AssertionResult failed(const Result<T>& result, Errc code) {
  if (result) return testing::AssertionFailure() << "it succeeded";
  if (result.error().errc() == code) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().what() << " instead of " << to_string(code);
}

// Busy by its deadline. If the machine stalled, the store may not have answered in time, so this
// asks again.
template <class Attempt>
testing::AssertionResult busy_by_deadline(Attempt attempt) {
  for (int trial = 1;; ++trial) {
    const auto result = attempt();
    if (trial == 10 || result || result.error().errc() != Errc::unavailable)
      return failed(result, Errc::busy);
  }
}

// What the store lists under exactly this name: holders and waiters.
inline std::vector<Holder> listed(const Store& store, const std::string& name) {
  return store.holders(name).value();
}
inline long waiting(const Store& store, const std::string& name) {
  return std::ranges::count(listed(store, name), true, &Holder::waits);
}
inline long holding(const Store& store, const std::string& name) {
  return std::ranges::count(listed(store, name), false, &Holder::waits);
}

// Free at once: long before a ttl of `held_long` could have expired.
inline constexpr Millis held_long{20 * 60'000};
inline Result<Lease> take_at_once(const Store& store, const std::string& name) {
  return store.lock(name).try_acquire_for(patient);
}

}  // namespace holdfast::support
