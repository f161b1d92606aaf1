#include "stores/zookeeper/line.hpp"

#include <algorithm>

namespace holdfast::stores::zookeeper {
namespace {

std::vector<std::string> whom_to_watch(std::span<const Child> claims, std::size_t place) {
  const Ahead ahead = ahead_of(claims, place);
  if (!ahead.any) return {claims[ahead.place].name};
  std::vector<std::string> watch;
  for (const Child& holder : claims.first(place)) watch.push_back(holder.name);
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

const Child* Line::find(const ClaimId& claim) const {
  const auto found = std::ranges::find(claims, claim, &Child::claim);
  return found == claims.end() ? nullptr : &*found;
}

Verdict judge(const Line& line, std::string_view mine) {
  using enum Verdict::What;
  const auto found = std::ranges::find(line.claims, mine, &Child::name);
  if (found == line.claims.end()) return {.what = missing};
  const Shape& first = line.claims.front().shape;
  if (first != unknown_shape && stores::misfit(first, found->shape).errc != Errc{})
    return {.what = misfit};
  const auto place = static_cast<std::size_t>(found - line.claims.begin());
  if (place < stores::granted(line.claims))
    return {.what = granted, .heard = wakes_next(line.claims, place)};
  return {.what = waits, .watch = whom_to_watch(line.claims, place)};
}

}  // namespace holdfast::stores::zookeeper
