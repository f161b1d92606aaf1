// How a claim ends: released, withdrawn, or replaced by another ask.
#include <utility>

#include "stores/zookeeper/own_claims.hpp"
#include "stores/zookeeper/trouble.hpp"

namespace holdfast::stores::zookeeper {

// Goes on until the deletion is confirmed or the session has ended, so that no unwanted claim stays
// in line. ZOK: we deleted the node. ZNONODE: it was not there. ZSESSIONEXPIRED: it went with its
// session.
Task<int> OwnClaims::leave(Entry& entry) {
  for (bool tried = false;;) {
    const Place place = place_of(entry);
    if (place.child.empty() && !place.doubtful) {
      if (!place.marker.empty()) {
        const int rc = co_await remove_marker(entry, place);
        if (rc == ZCLOSING) co_return rc;
      }
      const std::lock_guard lock(mutex_);
      const bool by_eviction = std::exchange(entry.place, {}).standing == Standing::ended;
      co_return by_eviction ? ZSESSIONEXPIRED : tried ? ZOK : ZNONODE;
    }
    const auto [session, problem] = co_await keeper_.session();
    if (!session) co_return ZCLOSING;
    if (place.doubtful) {
      const int found = co_await find_again(entry, session);
      if (found != ZOK && found != ZNONODE && !was_lost(found) && !is_over(found)) co_return found;
      continue;
    }
    settle(entry, session, [](Place& at) { at.leaving = true; });
    const int rc = co_await remove_node(entry, place, session);
    if (was_lost(rc)) {
      tried = true;
      continue;
    }
    if (is_over(rc)) continue;
    const std::lock_guard lock(mutex_);
    if (rc == ZOK || rc == ZNONODE) entry.place = {};
    co_return rc == ZNONODE&& tried ? ZOK : rc;
  }
}

// When the session ended, it took the claim's node, but not the marker.
Task<int> OwnClaims::remove_marker(const Entry& entry, const Place& place) {
  for (;;) {
    const auto [session, problem] = co_await keeper_.session();
    if (!session) co_return ZCLOSING;
    const Outcome removed = co_await session->remove(entry.folder + "/" + place.marker);
    if (!was_lost(removed.rc) && !is_over(removed.rc)) co_return removed.rc;
  }
}

// Removes the marker in the same transaction, so that only a holder's death leaves one behind.
Task<int> OwnClaims::remove_node(const Entry& entry, const Place& place,
                                 std::shared_ptr<Session> session) {
  const std::string path = entry.folder + "/" + place.child;
  if (place.marker.empty()) {
    const Outcome removed = co_await session->remove(path);
    co_return removed.rc;
  }
  const std::string marker = entry.folder + "/" + place.marker;
  const std::vector<Change> both = {{Change::What::remove, path}, {Change::What::remove, marker}};
  const Outcome removed = co_await session->change(both);
  if (removed.rc != ZNONODE) co_return removed.rc;
  // One of the two is already gone.
  const Outcome child = co_await session->remove(path);
  const Outcome other = co_await session->remove(marker);
  co_return was_lost(other.rc) ? other.rc : child.rc;
}

Task<Answer> OwnClaims::drop(Entry& entry) {
  const int rc = co_await leave(entry);
  switch (rc) {
    case ZOK: {
      Answer answer;
      answer.said = Said::yes;
      co_return answer;
    }
    case ZNONODE:
    case ZSESSIONEXPIRED: co_return not_held();
    default: co_return refused(Said::unknown, problem_of(rc, entry.folder));
  }
}

bool OwnClaims::Replaced::await_suspend(std::coroutine_handle<> waiting) {
  claims.withdraw(claim, ttl);
  return claims.hand_in(claim, DropJob{.then = waiting});
}

}  // namespace holdfast::stores::zookeeper
