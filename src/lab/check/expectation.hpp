// lab/check/expectation.hpp: what the stated guarantees of a store promise in one run.
//
// The code that sets up a run fills it in. The checkers do not judge what is not promised.
#pragma once

#include <cstdint>

#include "core/terms.hpp"

namespace holdfast::lab {

struct Expectation {
  bool exclusive = true;  // leases never weigh more than fits
  bool tokens = true;     // numbers grow in the order of the store's commits
  bool fifo = true;       // the store keeps a line, which only unfair asks may pass
  bool notifies = true;   // the store notifies waiters; else they poll, which has no bounded cost
  bool faults = false;    // the plan has faults, which explain a loss or a retry
  bool unfenced = false;  // the resource that checks no tokens must stay in order too
  std::uint32_t handovers = 64;  // at most, in a row inside one process
  core::Nanos ttl{0};            // the longest of the run
  core::Nanos lock_delay{0};
  core::Nanos margin{0};  // the shortest between lost() and the end of a lease; 0: not known
  core::Nanos grace = Millis(1500);  // after calm: time for what a healthy store does at once
};

}  // namespace holdfast::lab
