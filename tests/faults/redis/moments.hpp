// tests/faults/redis/moments.hpp: the moments in the life of a lease of 30 s, without waiting for
// them. It is renewed after 10 s, at risk after 15 s, and over after 30 s: at the latest by its
// server, whose clock a test sets as well (support/skewed_clock.hpp).
#pragma once

#include "holdfast/holdfast.hpp"
#include "support/eventually.hpp"
#include "support/own_clock.hpp"
#include "support/world.hpp"

namespace holdfast::support {

inline constexpr Millis from_renewal_to_next{3'000};  // after one that failed
inline constexpr Millis from_renewal_to_risk{5'000};
inline constexpr Millis from_risk_to_end{past_ttl - from_renewal_to_risk - past_renewal};

// Makes the leases of this client due, and renewed if possible. If the first renewal finds a dead
// connection, a second one follows.
inline void come_due(const Store& store) {
  const auto before = store.stats();
  jump(past_renewal);
  EXPECT_TRUE(eventually([&] {
    const auto now = store.stats();
    return now.renewed > before.renewed || now.at_risk > before.at_risk || now.lost > before.lost;
  }));
  const auto now = store.stats();
  if (now.renewed == before.renewed && now.at_risk > before.at_risk) jump(from_renewal_to_next);
}
inline bool renews_when_due(const Store& store) {
  const auto before = store.stats().renewed;
  come_due(store);
  return eventually([&] { return store.stats().renewed > before; });
}

}  // namespace holdfast::support
