// lab/check/expectation.hpp: what the stated guarantees of a store promise in one run.
//
// Whoever sets up a run fills it in; what is not promised is not judged.
#pragma once

#include <cstdint>

#include "core/terms.hpp"

namespace holdfast::lab {

struct Expectation {
  bool exclusive = true;  // never more at once than fits
  bool tokens = true;     // numbers grow in the order of the store's commits
  bool fifo = true;       // the store keeps a line; an unfair ask may still pass it
  bool notifies = true;   // waiters are told; without it they poll, and polling has no bounded cost
  bool faults = false;    // something failed, by plan: a loss or a retry has a reason
  bool unfenced = false;  // the resource that checks no token must stay in order too
  std::uint32_t handovers = 64;  // in a row inside one process
  core::Nanos ttl{0};            // the longest of the run
  core::Nanos lock_delay{0};
  core::Nanos margin{0};  // the shortest between lost() and the end of a lease; 0: not known
  core::Nanos grace = Millis(1500);  // after calm: for what a healthy store does without delay
};

}  // namespace holdfast::lab
