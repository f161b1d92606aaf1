// How a claim is kept: renewals, downgrades, and the watch on its own node.
#include <utility>

#include "stores/zookeeper/own_claims.hpp"
#include "stores/zookeeper/trouble.hpp"

namespace holdfast::stores::zookeeper {
namespace {

// A claim that is released sooner needs no watch on its own node.
constexpr Millis guarded_after{30};

}  // namespace

// The session keeps everything that is held in it, so a renewal only reads the node. It syncs
// first, because an isolated server would still show a node that is long gone.
Task<Answer> OwnClaims::keep(Entry& entry, const KeepJob& job) {
  for (;;) {
    const auto [session, problem] = co_await keeper_.session();
    if (!session) co_return refused(Said::unknown, problem);
    if (place_of(entry).doubtful) {
      const int rc = co_await find_again(entry, session);
      if (rc != ZOK && rc != ZNONODE) continue;
    }
    const Place place = place_of(entry);
    if (place.revoked) co_return was_revoked();
    if (place.standing != Standing::held || place.child.empty()) co_return not_held();
    if (job.weight == 0 || job.weight > place.shape.weight)
      co_return refused(Said::no, {Errc::invalid, "weight", "a renewal can only lower the weight"});
    int rc = ZOK;
    if (job.weight < place.shape.weight) {
      rc = co_await reshape(entry, place, job.weight, session);
    } else {
      Operation syncing = session->sync(entry.folder);
      Operation reading = session->get(entry.folder + "/" + place.child);
      const Outcome synced = co_await syncing;
      const Outcome seen = co_await reading;
      rc = synced.rc != ZOK ? synced.rc : seen.rc;
      if (rc == ZOK && layout_.read_note(seen.text).revoked) co_return was_revoked();
    }
    if (was_lost(rc) || is_over(rc)) continue;
    if (rc == ZNONODE) co_return not_held();
    if (rc != ZOK) co_return refused(Said::unknown, problem_of(rc, entry.folder));
    Answer answer;
    answer.said = Said::yes;
    answer.number = static_cast<std::uint64_t>(place.number);
    answer.ttl = session->timeout();
    co_return answer;
  }
}

// The weight is part of the node's name, so another node takes its place in line, in one
// transaction.
Task<int> OwnClaims::reshape(Entry& entry, const Place& place, std::uint32_t weight,
                             std::shared_ptr<Session> session) {
  const auto child = layout_.read(place.child);
  const Shape shape{place.shape.kind, place.shape.capacity, weight};
  const std::string name = layout_.reshaped(*child, shape);
  const Outcome old = co_await session->get(entry.folder + "/" + place.child);
  if (old.rc != ZOK) co_return old.rc;
  Note note = layout_.read_note(old.text);
  note.number = place.number;
  if (!settle(entry, session, [](Place& at) { at.doubtful = at.leaving = true; }))
    co_return ZSESSIONEXPIRED;
  const std::vector<Change> both = {
      {Change::What::create_ephemeral, entry.folder + "/" + name, layout_.written(note)},
      {Change::What::remove, entry.folder + "/" + place.child}};
  const Outcome changed = co_await session->change(both);
  settle(entry, session, [&](Place& at) {
    at.leaving = false;
    at.doubtful = was_lost(changed.rc);
    if (changed.rc != ZOK) return;
    at.child = name;
    at.shape = shape;
    guard_later(entry);
  });
  co_return changed.rc;
}

// ── the watch on a claim's own node ──────────────────────────────────────────────────────────────

void OwnClaims::guard_later(const Entry& entry) {
  const BootTime due = BootClock::now() + guarded_after;
  if (unguarded_.empty()) courier_.tick_at(due);
  unguarded_.emplace_back(due, entry.claim);
}

BootTime OwnClaims::tick(BootTime now) noexcept try {
  std::vector<std::shared_ptr<Entry>> due;
  BootTime next = BootTime::max();
  {
    const std::lock_guard lock(mutex_);
    while (!unguarded_.empty() && unguarded_.front().first <= now) {
      const auto found = entries_.find(unguarded_.front().second);
      if (found != entries_.end()) due.push_back(found->second);
      unguarded_.pop_front();
    }
    if (!unguarded_.empty()) next = unguarded_.front().first;
  }
  for (const auto& entry : due) guard(entry);
  return next;
} catch (const std::bad_alloc&) {
  return now + guarded_after;
}

// Watches the claim's own node, to notice when it is revoked or deleted. The same read shows
// whether that has already happened.
Flow OwnClaims::guard(std::shared_ptr<Entry> entry) {
  const Place place = place_of(*entry);
  if (place.child.empty() || place.leaving || !place.session) co_return;
  const std::string path = entry->folder + "/" + place.child;
  if (!note_watch(path, entry->claim)) co_return;
  const Outcome seen = co_await place.session->get(path, true);
  if (seen.rc != ZOK) forget_watch(path, entry->claim);
  if (seen.rc == ZNONODE) {
    end_deleted(entry, place);
    co_return;
  }
  const std::lock_guard lock(mutex_);
  if (entry->place.child != place.child || entry->place.leaving) co_return;
  if (seen.rc != ZOK) {
    guard_later(*entry);
  } else if (layout_.read_note(seen.text).revoked && !std::exchange(entry->place.revoked, true)) {
    courier_.tell([entry](Hints& hints) { hints.gone(entry->name, entry->claim); });
  }
}

// Somebody deleted the node, or it went with its session and we hear of the node first. A holder
// has lost the lock either way. A waiter has lost its place for good only if the session lives on;
// else it gets in line again, like every waiter of that session.
void OwnClaims::end_deleted(const std::shared_ptr<Entry>& entry, const Place& place) {
  {
    const std::lock_guard lock(mutex_);
    if (entry->place.child != place.child || entry->place.leaving) return;
    if (entry->place.standing == Standing::held) {
      entry->place.node_is_gone();
      entry->place.standing = Standing::ended;
      courier_.tell([entry](Hints& hints) { hints.gone(entry->name, entry->claim); });
      return;
    }
  }
  end_deleted_waiter(entry, place);
}

// The leader answers a sync only while the session lives.
Flow OwnClaims::end_deleted_waiter(std::shared_ptr<Entry> entry, Place place) {
  for (;;) {
    const auto [session, problem] = co_await keeper_.session();
    if (session != place.session) co_return;
    const Outcome synced = co_await session->sync(entry->folder);
    if (was_lost(synced.rc)) continue;
    if (synced.rc != ZOK) co_return;
    settle(*entry, session, [&](Place& at) {
      if (at.child != place.child || at.leaving) return;
      at = {};
      courier_.tell([entry](Hints& hints) { hints.gone(entry->name, entry->claim); });
    });
    co_return;
  }
}

}  // namespace holdfast::stores::zookeeper
