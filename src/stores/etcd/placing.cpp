// The steps of an ask: a lease, a key, and the line that the key stands in.
#include <utility>

#include "stores/etcd/asked.hpp"
#include "stores/etcd/store.hpp"

namespace holdfast::stores::etcd {
namespace {

using What = Operation::What;

Transaction when(Condition condition, Operation operation) {
  Transaction step;
  step.when.push_back(std::move(condition));
  step.then.push_back(std::move(operation));
  return step;
}

}  // namespace

// ── leases ───────────────────────────────────────────────────────────────────────────────────────

// Gives the entry a fresh lease, or one just kept alive: then the caller must prove `kept`.
Later<Reply> EtcdStore::have_lease(EntryPtr entry, LeaseKept& kept, BootTime deadline) {
  Reply reply;
  reply.outcome = Outcome::done;
  const BootTime now = BootClock::now();
  std::optional<Lease> lease;
  {
    const std::lock_guard lock(mutex_);
    if (!entry->lease)
      if (const auto free = pool_.take(lease_ttl(entry->ttl), now)) set_lease(*entry, *free);
    lease = entry->lease;
  }
  if (lease) {
    if (lease->fresh(now)) co_return reply;
    kept = co_await client_.keep(lease->id, deadline);
    if (!kept.done()) co_return static_cast<const Reply&>(kept);
    if (kept.ttl > kept.ttl.zero()) co_return reply;
    give_up_lease(*entry);
  }
  kept = {};
  const BootTime sent = BootClock::now();
  const LeaseGranted granted = co_await grant(lease_ttl(entry->ttl), deadline);
  if (granted.done()) {
    const std::lock_guard lock(mutex_);
    set_lease(*entry, {.id = granted.lease, .ttl = granted.ttl, .counted = sent});
  }
  co_return static_cast<const Reply&>(granted);
}

// For the delay's key. This lease is granted or kept alive after the claim's own, so whenever the
// holder dies, it ends at least the lock_delay later.
Later<Reply> EtcdStore::have_delay_lease(EntryPtr entry, BootTime deadline) {
  std::chrono::seconds ttl{};
  {
    const std::lock_guard lock(mutex_);
    ttl = entry->lease->ttl + lease_ttl(entry->lock_delay);  // granted: may be longer than asked
    if (!entry->delay_lease) entry->delay_lease = pool_.take(ttl, BootClock::now());
  }
  if (entry->delay_lease) {
    const LeaseKept kept = co_await client_.keep(entry->delay_lease->id, deadline);
    if (!kept.done() || kept.ttl > kept.ttl.zero()) {
      const std::lock_guard lock(mutex_);
      if (kept.done()) entry->delay_lease->counted = kept.sent;
      co_return static_cast<const Reply&>(kept);
    }
  }
  const BootTime sent = BootClock::now();
  const LeaseGranted granted = co_await grant(ttl, deadline);
  const std::lock_guard lock(mutex_);
  entry->delay_lease.reset();
  if (granted.done())
    entry->delay_lease = {.id = granted.lease, .ttl = granted.ttl, .counted = sent};
  co_return static_cast<const Reply&>(granted);
}

void EtcdStore::set_lease(Entry& entry, const Lease& lease) {
  entry.lease = lease;
  entry.key = layout_.key(entry.prefix, lease.id);
}

Lease EtcdStore::lease_of(const Entry& entry) {
  const std::lock_guard lock(mutex_);
  return *entry.lease;
}

// Keys that are still bound to it end with it.
void EtcdStore::give_up_lease(Entry& entry) {
  std::optional<Lease> lease;
  std::optional<Lease> of_delay;
  {
    const std::lock_guard lock(mutex_);
    lease = std::exchange(entry.lease, std::nullopt);
    if (std::exchange(entry.delay_written, false))
      of_delay = std::exchange(entry.delay_lease, std::nullopt);
    entry.created = 0;
    entry.held = false;
  }
  if (lease) end_lease(*lease);
  if (of_delay) end_lease(*of_delay);
}

// Ends the lease if the answer was lost, so that none is left behind.
Later<LeaseGranted> EtcdStore::grant(std::chrono::seconds ttl, BootTime deadline) {
  LeaseGranted granted = co_await client_.grant(ttl, deadline);
  if (granted.outcome == Outcome::unknown) end_lease({.id = granted.lease, .ttl = ttl});
  co_return granted;
}

// Tries until it is confirmed, or the lease must have ended by itself. close() waits for this.
Flow EtcdStore::end_lease(Lease lease) {
  struct Ending {
    explicit Ending(EtcdStore& of) : store(of) {
      const std::lock_guard lock(store.mutex_);
      ++store.ending_;
    }
    ~Ending() {
      const std::lock_guard lock(store.mutex_);
      if (--store.ending_ == 0) store.none_ending_.notify_all();
    }
    EtcdStore& store;
  } const ending(*this);
  const BootTime over = BootClock::now() + lease.ttl;
  for (;;) {
    const BootTime now = BootClock::now();
    const Reply ended = co_await client_.revoke(lease.id, now + std::chrono::seconds(5));
    const bool may_help = ended.problem.errc == Errc::unavailable && !ended.lease_is_gone();
    if (ended.done() || !may_help || now >= over) co_return;
    if (!co_await client_.pause(now + std::chrono::seconds(1))) co_return;
  }
}

// ── the key ──────────────────────────────────────────────────────────────────────────────────────

Later<Transacted> EtcdStore::place(const Entry& entry, bool if_free, BootTime deadline) {
  const Operation list{.what = What::range, .key = entry.prefix, .end = end_of(entry.prefix)};
  const Operation put{.what = What::put,
                      .key = entry.key,
                      .value = layout_.write(entry.standing()),
                      .lease = entry.lease->id};
  Transaction step;
  if (if_free) {
    step.when = {{Condition::Of::created, entry.prefix, 0, end_of(entry.prefix)}};
    step.then = {put};
    if (entry.lock_delay > Millis(0))
      step.then.push_back({.what = What::put,
                           .key = delay_key(entry.key),
                           .value = write_delay(entry.lock_delay),
                           .lease = entry.delay_lease->id});
  } else {
    step.when = {{Condition::Of::created, entry.key, 0}};
    step.then = {put, list};
  }
  step.otherwise = {list};
  return client_.transact(std::move(step), deadline);
}

// The line, once the claim is placed in it. `if_free` places it only if the name has no keys.
auto EtcdStore::look(EntryPtr entry, bool if_free, BootTime deadline) -> Later<Seen> {
  Seen seen;
  if (entry->created != 0) {
    Found found = co_await client_.find(entry->prefix, end_of(entry->prefix), 0, deadline);
    if (found.done()) seen.row = layout_.read(entry->prefix, found.all);
    static_cast<Reply&>(seen) = std::move(found);
    co_return seen;
  }
  Transacted placed = co_await place(*entry, if_free, deadline);
  if (placed.repeated) entry->doubtful = true;
  if (placed.done() && placed.held && if_free) {
    Standing mine = entry->standing();
    mine.created = mine.modified = placed.revision;
    mine.lease = entry->lease->id;
    seen.row.line.push_back(std::move(mine));
    entry->delay_written = entry->lock_delay > Millis(0);
  } else if (placed.done()) {
    seen.row = layout_.read(entry->prefix, placed.found.back());
  }
  static_cast<Reply&>(seen) = std::move(placed);
  co_return seen;
}

std::optional<std::size_t> EtcdStore::settle(Entry& entry, const Seen& seen,
                                             const LeaseKept& kept) {
  const auto place = seen.row.place_of(entry.key);
  if (!place) {
    set_placed(entry, 0, 0);
    return place;
  }
  const Standing& mine = seen.row.line[*place];
  set_placed(entry, mine.created, mine.modified);
  const std::lock_guard lock(mutex_);
  entry.lease->prove(kept, seen.term);
  return place;
}

void EtcdStore::set_placed(Entry& entry, std::int64_t created, std::int64_t changed) {
  const std::lock_guard lock(mutex_);
  entry.created = created;
  entry.modified = std::max(entry.modified, changed);
}

std::int64_t EtcdStore::modified(const Entry& entry) {
  const std::lock_guard lock(mutex_);
  return entry.modified;
}

void EtcdStore::set_modified(Entry& entry, std::int64_t revision) {
  const std::lock_guard lock(mutex_);
  entry.modified = std::max(entry.modified, revision);
}

// Changes the claim's key, because the claim behind it watches that.
Flow EtcdStore::wake_next(EntryPtr entry) {
  const BootTime deadline = BootClock::now() + std::chrono::seconds(5);
  Operation put{.what = What::put,
                .key = entry->key,
                .value = layout_.write(entry->standing()),
                .keep_lease = true};
  Transaction step = when({Condition::Of::modified, entry->key, modified(*entry)}, std::move(put));
  const Transacted woken = co_await client_.transact(std::move(step), deadline);
  if (woken.held) set_modified(*entry, woken.revision);
}

// ── lock_delay ───────────────────────────────────────────────────────────────────────────────────

// The delay's key is written before the grant is told, and removed with the claim's key. So if it
// stands alone, its holder died. Nobody has to see that: etcd removes it when its lease ends.
Later<bool> EtcdStore::write_own_delay(EntryPtr entry, BootTime deadline) {
  const Reply leased = co_await have_delay_lease(entry, deadline);
  if (!leased.done()) co_return false;
  Transaction step = when({Condition::Of::created, entry->key, entry->created},
                          {.what = What::put,
                           .key = delay_key(entry->key),
                           .value = write_delay(entry->lock_delay),
                           .lease = entry->delay_lease->id});
  const Transacted written = co_await client_.transact(std::move(step), deadline);
  entry->delay_written |= written.held || written.outcome == Outcome::unknown;
  co_return written.held;
}

}  // namespace holdfast::stores::etcd
