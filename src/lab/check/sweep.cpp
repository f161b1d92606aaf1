#include "lab/check/sweep.hpp"

#include <tuple>

namespace holdfast::lab {
namespace {

// True if the two count once: re-entries of one owner, or readers that share a claim.
bool together(const Acquire& a, const Acquire& b) {
  const bool same_claim =
      a.process == b.process && (a.claim ? a.claim == b.claim : a.token && a.token == b.token);
  return same_claim && (a.holder() == b.holder() || (!a.exclusive() && !b.exclusive()));
}

}  // namespace

std::vector<Crowd> crowds(std::vector<Held> held) {
  std::erase_if(held, [](const Held& one) { return one.begin >= one.end; });
  std::ranges::sort(held, {}, [](const Held& one) {
    return std::tuple(one.lease->name, one.begin, one.lease->op);
  });
  std::vector<Crowd> found;
  std::vector<const Held*> inside;
  for (const Held& next : held) {
    std::erase_if(inside, [&](const Held* one) {
      return one->lease->name != next.lease->name || one->end <= next.begin;
    });
    const bool alone = std::ranges::none_of(
        inside, [&](const Held* one) { return together(*one->lease, *next.lease); });
    inside.push_back(&next);
    if (!alone) continue;
    std::uint64_t weight = 0;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const auto before = inside.begin() + static_cast<std::ptrdiff_t>(i);
      const bool counted = std::any_of(inside.begin(), before, [&](const Held* one) {
        return together(*one->lease, *inside[i]->lease);
      });
      if (!counted) weight += inside[i]->lease->weight;
    }
    if (weight > next.lease->capacity)
      found.push_back({next.lease, inside.front()->lease, weight, next.begin});
  }
  return found;
}

}  // namespace holdfast::lab
