// stores/common/line.hpp: who of a line is in, and what the others wait for. Pure.
//
// For stores where all claims of a name are listed in an order that the store keeps. One rule
// serves all kinds: a claim is granted if the weights of all up to and including it fit the
// capacity. So the granted are always the first ones, and one that was granted stays so. What one
// waits for is chosen so that nobody is woken who cannot be let in.
//
// A line is any list of things that have a `shape`; the first says what the name is in use as.
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

// Of no kind that we know: first or not, it stands alone.
inline constexpr Shape unknown_shape{.capacity = std::numeric_limits<std::uint32_t>::max(),
                                     .weight = std::numeric_limits<std::uint32_t>::max()};

// How many of the first are granted.
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

// What the one at `place`, which is not granted, must hear of to know that it may be.
struct Ahead {
  bool any = false;       // the end of any that is granted; else …
  std::size_t place = 0;  // that one ends, or changes
  friend bool operator==(const Ahead&, const Ahead&) = default;
};

// Who wants the whole waits for its predecessor, a reader for the writer before it: whatever else
// changes does not let them in. Of those who want a part the first waits for the end of any that
// holds, those behind it for the one before them: to end, or to say that it was granted.
template <class Line>
Ahead ahead_of(const Line& line, std::size_t place) noexcept {
  const Shape& mine = line[place].shape;
  if (mine.kind == Kind::rw && !mine.whole())
    for (std::size_t before = place; before-- > 0;)
      if (line[before].shape.whole()) return {.place = before};
  if (!mine.whole() && place == granted(line)) return {.any = true};
  return {.place = place - 1};
}

// Whether a claim that comes to be granted must say so, for the one behind it waits for that.
template <class Line>
bool wakes_next(const Line& line, std::size_t place) noexcept {
  return line[place].shape.kind == Kind::semaphore && place + 1 < line.size();
}

// errc 0 if what is asked for is what the name is in use as.
Problem misfit(const Shape& present, const Shape& asked);

}  // namespace holdfast::stores
