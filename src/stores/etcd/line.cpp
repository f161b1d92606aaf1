#include "stores/etcd/line.hpp"

namespace holdfast::stores::etcd {
namespace {

std::string describe(const Standing& standing) {
  std::string shape(to_string(standing.kind));
  if (standing.kind == Kind::semaphore) shape += " of " + std::to_string(standing.capacity);
  return shape;
}

bool exclusive(const Standing& standing) noexcept { return standing.weight >= standing.capacity; }

}  // namespace

std::size_t granted(const Line& line) noexcept {
  std::uint64_t weights = 0;
  std::size_t count = 0;
  for (const Standing& standing : line) {
    weights += standing.weight;
    if (weights > standing.capacity) break;
    ++count;
  }
  return count;
}

// Who wants all of it waits for its predecessor, a reader for the writer before it: whatever else
// changes does not let them in. Of those who want a part the first waits for the end of any that
// holds, those behind it for the one before them: to end, or to say that it was granted.
Ahead ahead_of(const Line& line, std::size_t place) noexcept {
  using enum Ahead::What;
  const Standing& mine = line[place];
  if (exclusive(mine)) return {one, place - 1};
  if (mine.kind == Kind::rw) {
    for (std::size_t before = place; before-- > 0;)
      if (exclusive(line[before])) return {one, before};
    return {ends, 0};
  }
  if (place == granted(line)) return {ends, 0};
  return {one, place - 1};
}

bool wakes_next(const Line& line, std::size_t place) noexcept {
  return line[place].kind == Kind::semaphore && place + 1 < line.size();
}

Problem misfit(const Line& line, std::size_t place) {
  const Standing& first = line.front();
  const Standing& mine = line[place];
  if (first.kind == mine.kind && first.capacity == mine.capacity) return {};
  return {Errc::invalid, "kind",
          "it is in use as " + describe(first) + ", asked for as " + describe(mine)};
}

}  // namespace holdfast::stores::etcd
