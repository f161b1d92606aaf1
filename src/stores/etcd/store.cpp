#include "stores/etcd/store.hpp"

#include <algorithm>

#include "core/validity.hpp"

namespace holdfast::stores::etcd {
namespace {

constexpr std::uint64_t sweep_every = 256;  // claims

Traits traits_of(const Options& options) {
  Traits traits;
  traits.scheme = "etcd";
  traits.durable = true;
  traits.forks = false;  // see module.cpp
  traits.cells = true;
  traits.expiring_cells = true;
  traits.granularity = Millis(0);  // a lease is never shorter than its ttl
  if (options.etcd_dialect) {
    traits.rw = traits.semaphore = false;
    traits.bare_tokens = true;
    traits.handovers = 0;
  }
  return traits;
}

}  // namespace

EtcdStore::EtcdStore(Options options, Hints& hints)
    : options_(std::move(options)),
      layout_(options_.etcd_dialect),
      traits_(traits_of(options_)),
      courier_(hints, [this](BootTime now) { return tick(now); }),
      client_(options_, *this, [this](BootTime at) { courier_.tick_at(at); }) {}

EtcdStore::~EtcdStore() { client_.close(); }

void EtcdStore::close(BootTime until) noexcept try {
  std::vector<Lease> ready;
  {
    const std::lock_guard lock(mutex_);
    ready = pool_.take_all();
  }
  for (const Lease& lease : ready) end_lease(lease);
  std::unique_lock lock(mutex_);
  const auto time = std::max(until - BootClock::now(), BootClock::duration::zero());
  none_ending_.wait_for(lock, time, [this] { return ending_ == 0; });
} catch (const std::bad_alloc&) {
  // The leases end by themselves.
}

// Drops entries that the core has given up: their time is over, and no flow uses them.
void EtcdStore::sweep(BootTime now) {
  std::erase_if(entries_, [&](const auto& each) {
    const Entry& entry = *each.second;
    return each.second.use_count() == 1 && !entry.held && entry.lease &&
           entry.lease->end() + 2 * entry.lease->ttl < now;
  });
}

EntryPtr EtcdStore::enter(const Ask& ask) {
  const BootTime now = BootClock::now();
  const std::lock_guard lock(mutex_);
  if (++entered_ % sweep_every == 0) sweep(now);
  std::erase_if(withdrawn_, [&](const auto& each) { return each.second <= now; });
  if (withdrawn_.contains(ask.claim)) return nullptr;
  EntryPtr& entry = entries_[ask.claim];
  if (!entry) entry = std::make_shared<Entry>(ask, layout_);
  return entry;
}

// Other clients count every key under a name and "/" as one in its line.
bool EtcdStore::in_the_way(const Ask& ask) {
  if (!options_.etcd_dialect) return false;
  const auto is_under = [](std::string_view name, std::string_view other) {
    return name.size() > other.size() && name.starts_with(other) && name[other.size()] == '/';
  };
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(entries_, [&](const auto& each) {
    return is_under(each.second->name, ask.name) || is_under(ask.name, each.second->name);
  });
}

EntryPtr EtcdStore::find(const ClaimId& claim) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(claim);
  return found == entries_.end() ? nullptr : found->second;
}

// Requires that the claim is not in the store, and that no key is bound to its lease, if any.
void EtcdStore::forget(Entry& entry) {
  unwatch(entry);
  const std::lock_guard lock(mutex_);
  entry.over = true;
  entry.held = false;
  const BootTime now = BootClock::now();
  if (entry.lease && !entry.doubtful) pool_.give(*entry.lease, lease_ttl(entry.ttl), now);
  if (entry.delay_lease && !entry.doubtful && !entry.delay_written)
    pool_.give(*entry.delay_lease, entry.delay_lease->ttl, now);
  entry.lease.reset();
  entry.delay_lease.reset();
  entries_.erase(entry.claim);
}

void EtcdStore::remember_withdrawn(const ClaimId& claim, Millis ttl) {
  const std::lock_guard lock(mutex_);
  withdrawn_[claim] = BootClock::now() + core::with_drift(ttl);
}

Holder EtcdStore::describe(const std::string& name, const Standing& standing, bool waits) const {
  Holder holder;
  holder.name = name;
  holder.who = standing.about;
  holder.token = core::token_of(traits_, static_cast<std::uint64_t>(standing.created), 0);
  holder.weight = standing.shape.weight;
  holder.capacity = standing.shape.capacity;
  holder.waits = waits;
  return holder;
}

}  // namespace holdfast::stores::etcd
