// lab/check/check.hpp: reads a history and says which promises were broken, and which checkers
// found that.
//
// Each checker is a pure function of the history and of what was promised. The same checkers judge
// simulated and real runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/check/expectation.hpp"
#include "lab/history.hpp"

namespace holdfast::lab {

enum class Checker : std::uint8_t {
  exclusion,  // leases that exclude each other do not overlap
  belief,     // valid() is not true while another's is, nor after the store has ended the claim
  fencing,    // tokens grow; the resource that checks them refuses old ones, and only those
  linear,     // acquires and releases behave like a lock's
  lost,       // a holder that loses its lease is told in time, and no other holder is
  liveness,   // after calm, waiters get what is free
  fairness,   // no waiter is overtaken beyond the stated bound
  residue,    // after calm, no claim stays in the store that nobody wants
  cost,       // a handover and a lease cost a bounded number of requests
  stuck,      // at the end no process has anything left to do
};
inline constexpr std::size_t checkers = 10;
std::string_view to_string(Checker checker) noexcept;

struct Violation {
  Checker checker{};
  std::string text;
  std::int64_t at = 0;  // true time in nanoseconds
};

std::vector<Violation> check(const History& history, const Expectation& expected);

}  // namespace holdfast::lab
