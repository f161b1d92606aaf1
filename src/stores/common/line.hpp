// stores/common/line.hpp: which claims in a line are granted, and what the others wait for. Pure.
//
// For stores that list all claims of a name in a fixed order. One rule serves all kinds: a claim is
// granted if the weights of all claims up to and including it fit the capacity. So the granted
// claims are always the first ones, and a granted claim stays granted. What each waiter watches is
// chosen so that, as a rule, nothing wakes it before it can be let in (decision 0014).
//
// A line is any list of things with a `shape`; the first one's kind and capacity are the name's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "holdfast/backend.hpp"

namespace holdfast::stores {

struct Shape {
  Kind kind{};
  std::uint32_t capacity = 1;
  std::uint32_t weight = 1;

  bool whole() const noexcept { return weight >= capacity; }  // it excludes all others
  friend bool operator==(const Shape&, const Shape&) = default;
};

// A claim of a kind that we do not know: wherever it stands, it shares the lock with nobody.
inline constexpr Shape unknown_shape{.capacity = std::numeric_limits<std::uint32_t>::max(),
                                     .weight = std::numeric_limits<std::uint32_t>::max()};

// How many claims at the front are granted.
template <class Line>
std::size_t granted(const Line& line) noexcept {
  std::uint64_t weights = 0;
  std::size_t count = 0;
  for (const auto& each : line) {
    weights += each.shape.weight;
    if (weights > line.front().shape.capacity) break;
    ++count;
  }
  return count;
}

// What the claim at `place`, which is not granted, has to watch.
struct Ahead {
  bool any = false;       // the end of any granted claim; else …
  std::size_t place = 0;  // … the end, or a change, of the claim there
  friend bool operator==(const Ahead&, const Ahead&) = default;
};

// A claim for the whole waits for its predecessor, and a reader for the nearest writer before it,
// because no other change lets them in. The first waiter for a part waits for the end of any
// holder. Each one behind it waits for its predecessor to end, or to say that it was granted.
template <class Line>
Ahead ahead_of(const Line& line, std::size_t place) noexcept {
  const Shape& mine = line[place].shape;
  if (mine.kind == Kind::rw && !mine.whole())
    for (std::size_t before = place; before-- > 0;)
      if (line[before].shape.whole()) return {.place = before};
  if (!mine.whole() && place == granted(line)) return {.any = true};
  return {.place = place - 1};
}

// Whether a claim that is granted must say so, because the one behind it waits for that.
template <class Line>
bool wakes_next(const Line& line, std::size_t place) noexcept {
  return line[place].shape.kind == Kind::semaphore && place + 1 < line.size();
}

// errc 0 if the name is in use with the kind and capacity that are asked for.
Problem misfit(const Shape& present, const Shape& asked);

}  // namespace holdfast::stores
