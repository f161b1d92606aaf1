// Turns changes of keys into hints: a waiter looks again, and a holder hears that its key is gone.
#include "stores/etcd/store.hpp"

namespace holdfast::stores::etcd {
namespace {

// A claim that is released sooner never watches its own key.
constexpr Millis own_watch_after{30};

}  // namespace

// ── watching ─────────────────────────────────────────────────────────────────────────────────────

// Watches from the next change on, because the server serves a watch from an earlier revision in a
// slow loop. opened() finds out whether anything happened since the line was read.
void EtcdStore::watch_ahead(const EntryPtr& entry, const Row& row, std::size_t place,
                            std::int64_t revision) {
  const Ahead ahead = ahead_of(row.line, place);
  if (ahead.any) return watch_all(entry, revision);
  watch_for(entry, {.key = row.line[ahead.place].key}, revision);
}

// The end of any key of this name.
void EtcdStore::watch_all(const EntryPtr& entry, std::int64_t revision) {
  watch_for(entry, {.key = entry->prefix, .end = end_of(entry->prefix), .ends = true}, revision);
}

void EtcdStore::watch_for(const EntryPtr& entry, Client::Watch watch, std::int64_t revision) {
  WatchId id = 0;
  {
    const std::lock_guard lock(mutex_);
    entry->listed = revision;
    if (entry->ahead_watch != 0 && entry->ahead_key == watch.key) return;
    id = ++last_watch_;
  }
  stop_watching_ahead(*entry);
  {
    const std::lock_guard lock(mutex_);
    entry->ahead_watch = id;
    entry->ahead_key = watch.key;
    watched_[id] = {entry, false};
  }
  if (!client_.watch(id, watch)) closed(id);
}

void EtcdStore::stop_watching_ahead(Entry& entry) noexcept {
  WatchId id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = std::exchange(entry.ahead_watch, 0);
    watched_.erase(id);
  }
  if (id != 0) client_.unwatch(id);
}

void EtcdStore::watch_own_later(const EntryPtr& entry) {
  BootTime at{};
  {
    const std::lock_guard lock(mutex_);
    if (entry->own_watch != 0) return;
    entry->own_watch = ++last_watch_;
    at = BootClock::now() + own_watch_after;
    to_watch_.emplace_back(at, entry);
    if (to_watch_.size() > 1) return;
  }
  courier_.tick_at(at);
}

// Watches from the last change that we know, so nothing is missed. False: memory ran out.
bool EtcdStore::watch_own(const EntryPtr& entry) noexcept try {
  WatchId id = 0;
  Client::Watch watch;
  {
    const std::lock_guard lock(mutex_);
    if (entry->over || entry->own_watch == 0) return true;
    watch.key = entry->key;
    watch.from = std::max(entry->modified, entry->own_read) + 1;
    id = ++last_watch_;
    watched_[id] = {entry, true};
    entry->own_watch = id;
  }
  if (!client_.watch(id, watch)) closed(id);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

// Reads the key after its watch broke, because etcd may have compacted what happened in between.
Flow EtcdStore::watch_own_again(EntryPtr entry) {
  const BootTime now = BootClock::now();
  co_await client_.pause(now + own_watch_after);
  std::string key;
  {
    const std::lock_guard lock(mutex_);
    key = entry->key;
  }
  const Found found = co_await client_.find(key, {}, 0, now + std::chrono::seconds(5));
  if (found.done() && found.all.empty()) co_return own_changed(entry, true);
  if (found.done()) {
    if (layout_.says_revoked(found.all.front().value)) own_changed(entry, false);
    set_modified(*entry, found.all.front().modified);
    {
      const std::lock_guard lock(mutex_);
      entry->own_read = found.revision;
    }
    if (watch_own(entry)) co_return;
  }
  // Renewals will see what became of the key; the claim's next ask watches it again.
  const std::lock_guard lock(mutex_);
  entry->own_watch = 0;
}

void EtcdStore::unwatch(Entry& entry) noexcept {
  stop_watching_ahead(entry);
  WatchId id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = std::exchange(entry.own_watch, 0);
    if (watched_.erase(id) == 0) return;  // it had not begun yet
  }
  client_.unwatch(id);
}

BootTime EtcdStore::tick(BootTime now) noexcept {
  for (;;) {
    EntryPtr due;
    {
      const std::lock_guard lock(mutex_);
      if (to_watch_.empty()) break;
      due = to_watch_.front().second.lock();
      if (due && to_watch_.front().first > now) break;
      to_watch_.pop_front();  // due, or released since
    }
    if (!due || watch_own(due)) continue;
    const std::lock_guard lock(mutex_);
    due->own_watch = 0;
  }
  const BootTime next = client_.tick(now);
  const std::lock_guard lock(mutex_);
  return to_watch_.empty() ? next : std::min(next, to_watch_.front().first);
}

// ── changes ──────────────────────────────────────────────────────────────────────────────────────

EntryPtr EtcdStore::watched_by(WatchId watch, bool& own, bool over) {
  const std::lock_guard lock(mutex_);
  const auto found = watched_.find(watch);
  if (found == watched_.end()) return nullptr;
  EntryPtr entry = found->second.entry.lock();
  own = found->second.own;
  if (over || !entry) watched_.erase(found);
  if (over && entry && !own) entry->ahead_watch = 0;
  return entry;
}

void EtcdStore::opened(WatchId watch, std::int64_t revision) noexcept {
  bool own = false;
  const EntryPtr entry = watched_by(watch, own, false);
  if (!entry || own) return;
  {
    const std::lock_guard lock(mutex_);
    if (revision <= entry->listed) return;
  }
  if (!come_forward(entry, revision).begun) tell_look(entry);
}

void EtcdStore::changed(WatchId watch, const Change& change) noexcept try {
  bool own = false;
  const EntryPtr entry = watched_by(watch, own, false);
  if (!entry) return client_.unwatch(watch);  // released while the watch was being opened
  if (!own) {
    if (!come_forward(entry, change.modified).begun) tell_look(entry);
    return;
  }
  if (!change.ended) set_modified(*entry, change.modified);
  if (change.ended || layout_.says_revoked(change.value)) own_changed(entry, change.ended);
} catch (const std::bad_alloc&) {
  client_.unwatch(watch);
  closed(watch);  // so that the key is read again
}

void EtcdStore::closed(WatchId watch) noexcept {
  bool own = false;
  const EntryPtr entry = watched_by(watch, own, true);
  if (!entry) return;
  if (!own) return tell_look(entry);
  if (watch_own_again(entry).begun) return;
  const std::lock_guard lock(mutex_);
  entry->own_watch = 0;
}

// Its key ended, or was marked as revoked. A waiter's next ask puts it back in line.
void EtcdStore::own_changed(const EntryPtr& entry, bool ended) noexcept {
  bool was_held = false;
  WatchId over = 0;
  {
    const std::lock_guard lock(mutex_);
    if (entry->over) return;
    was_held = std::exchange(entry->held, false);
    if (ended) over = std::exchange(entry->own_watch, 0);
    watched_.erase(over);
  }
  if (over != 0) client_.unwatch(over);
  if (!was_held) return tell_look(entry);
  courier_.tell([entry](Hints& hints) { hints.gone(entry->name, entry->claim); });
}

void EtcdStore::tell_look(const EntryPtr& entry) noexcept {
  courier_.tell([entry](Hints& hints) { hints.look(entry->name); });
}

}  // namespace holdfast::stores::etcd
