// lab/check/check.hpp: reads a history and says which promise was broken, by which checker.
//
// Each checker is a pure function of the history and of what was promised; simulated and real runs
// are judged by the same ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/check/expectation.hpp"
#include "lab/history.hpp"

namespace holdfast::lab {

enum class Checker : std::uint8_t {
  exclusion,  // leases that count do not overlap
  belief,     // nobody sees valid() true when another does, or when the store has ended it
  fencing,    // tokens grow; the resource that checks them refuses the old, and only those
  linear,     // acquires and releases are those of a lock
  lost,       // whoever loses a lease is told in time, and nobody else
  liveness,   // after calm, what is free is taken by whoever waits
  fairness,   // nobody is overtaken beyond the stated bound
  residue,    // after calm, nothing stays in the store for those who want nothing
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
