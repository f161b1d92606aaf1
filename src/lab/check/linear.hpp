// lab/check/linear.hpp: is there an order of the operations, each between its call and its return,
// that a lock of this kind could have followed? Wing and Gong's search, which remembers the states
// that led nowhere.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/check/account.hpp"

namespace holdfast::lab {

enum class Model : std::uint8_t {
  owner_aware_mutex,       // free, or held by one; only the holder releases it
  reentrant_mutex,         // the same owner may re-enter, and releases as often
  fenced_mutex,            // and every grant has a greater token than all before it
  reentrant_fenced_mutex,  // a re-entry has the token of the lease that it enters
  permits,                 // several hold, up to a capacity
};
std::string_view to_string(Model model) noexcept;

struct Operation {
  enum class Kind : std::uint8_t {
    acquire,
    release,
    lapse,  // the lease ended by itself, at `called` or later
  };
  Kind kind{};
  std::int64_t called = 0;
  std::int64_t returned = not_yet;  // not_yet: still open, and may never have happened
  std::uint64_t lease = 0;          // the acquire that it belongs to
  std::uint64_t owner = 0;
  std::uint64_t token = 0;
  std::uint32_t weight = 1;
};

enum class Verdict : std::uint8_t { linear, broken, undecided };
// `undecided`: the search gave up, which happens only with histories made to be hard.
Verdict linear(std::vector<Operation> operations, Model model, std::uint32_t capacity = 1);

inline constexpr std::size_t most_operations = 300;
// The operations of one lock, cut off where there are too many: an operation that had not returned
// by then may not have happened.
std::vector<Operation> operations_of(const std::vector<Acquire>& acquires, std::uint16_t name);

}  // namespace holdfast::lab
