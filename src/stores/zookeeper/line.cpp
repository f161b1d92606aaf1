#include "stores/zookeeper/line.hpp"

#include <algorithm>

namespace holdfast::stores::zookeeper {
namespace {

bool is_writer(const Child& child) {
  return child.foreign || child.shape.weight == child.shape.capacity;
}

// Nobody is woken who could not be let in. The whole waits for all before it to go: the last of
// them will do. A reader waits for the writer nearest to it. The first who waits for permits is let
// in when any holder goes, and those behind it when it was let in itself.
std::vector<std::string> whom_to_watch(std::span<const Child> before, std::size_t granted,
                                       const Child& mine) {
  if (mine.shape.kind == Kind::rw && !is_writer(mine)) {
    const auto writer = std::find_if(before.rbegin(), before.rend(), is_writer);
    if (writer != before.rend()) return {writer->name};
  }
  std::vector<std::string> watch;
  const bool first = granted == before.size();
  if (mine.shape.kind == Kind::semaphore && first && !is_writer(mine)) {
    for (const Child& holder : before) watch.push_back(holder.name);
  } else {
    watch.push_back(before.back().name);
  }
  return watch;
}

}  // namespace

Line::Line(std::span<const std::string> children, const Layout& layout) {
  for (const std::string& name : children) {
    if (auto marker = layout.read_marker(name)) {
      orphans.push_back(std::move(*marker));
    } else if (auto child = layout.read(name)) {
      claims.push_back(std::move(*child));
    }
  }
  layout.sort(claims);
  std::erase_if(orphans, [&](const Marker& marker) { return find(marker.claim); });
}

std::size_t Line::granted() const {
  std::uint64_t taken = 0;
  std::size_t count = 0;
  for (const Child& child : claims) {
    taken += child.foreign ? claims.front().shape.capacity : child.shape.weight;
    if (taken > claims.front().shape.capacity) break;
    ++count;
  }
  return count;
}

const Child* Line::find(const ClaimId& claim) const {
  const auto found = std::ranges::find(claims, claim, &Child::claim);
  return found == claims.end() ? nullptr : &*found;
}

Verdict judge(const Line& line, std::string_view mine) {
  using enum Verdict::What;
  const auto found = std::ranges::find(line.claims, mine, &Child::name);
  if (found == line.claims.end()) return {.what = missing};
  const Child& first = line.claims.front();
  const bool fits =
      first.shape.kind == found->shape.kind && first.shape.capacity == found->shape.capacity;
  if (!fits && !first.foreign) return {.what = misfit};
  const auto place = static_cast<std::size_t>(found - line.claims.begin());
  const std::size_t granted_ones = line.granted();
  if (place < granted_ones) {
    const bool last = place + 1 == line.claims.size();
    return {.what = granted, .heard = found->shape.kind == Kind::semaphore && !last};
  }
  return {.what = waits,
          .watch = whom_to_watch(std::span(line.claims).first(place), granted_ones, *found)};
}

}  // namespace holdfast::stores::zookeeper
