#include "stores/etcd/leases.hpp"

#include <algorithm>

namespace holdfast::stores::etcd {
namespace {

constexpr std::size_t most_free = 64;

// There must be time left for a keep-alive to reach it.
bool usable(const Lease& lease, BootTime now) noexcept {
  return now - lease.counted < lease.ttl / 2.0;
}

}  // namespace

void Lease::prove(const LeaseKept& kept, std::uint64_t term) noexcept {
  if (!kept.done() || kept.term != term || kept.sent + kept.ttl <= end()) return;
  counted = kept.sent;
  ttl = kept.ttl;
}

std::chrono::seconds lease_ttl(Millis asked) noexcept {
  return std::chrono::ceil<std::chrono::seconds>(asked);
}

std::optional<Lease> LeasePool::take(std::chrono::seconds ttl, BootTime now) noexcept {
  std::erase_if(free_, [&](const Free& free) { return !usable(free.lease, now); });
  const auto found = std::find_if(free_.rbegin(), free_.rend(),
                                  [&](const Free& free) { return free.asked == ttl; });
  if (found == free_.rend()) return std::nullopt;
  const Lease lease = found->lease;
  free_.erase(std::next(found).base());
  return lease;
}

void LeasePool::give(const Lease& lease, std::chrono::seconds asked, BootTime now) {
  if (!usable(lease, now)) return;
  if (free_.size() == most_free) free_.erase(free_.begin());
  free_.push_back({lease, asked});
}

std::vector<Lease> LeasePool::take_all() {
  std::vector<Lease> all;
  all.reserve(free_.size());
  for (const Free& free : free_) all.push_back(free.lease);
  free_.clear();
  return all;
}

}  // namespace holdfast::stores::etcd
