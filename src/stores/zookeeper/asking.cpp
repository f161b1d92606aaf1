// How a claim gets in line, and how its ask is answered.
#include <algorithm>
#include <charconv>
#include <utility>

#include "stores/zookeeper/own_claims.hpp"
#include "stores/zookeeper/trouble.hpp"

namespace holdfast::stores::zookeeper {
namespace {

std::optional<Millis> read_timeout(std::string_view text) {
  Millis::rep count = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, count);
  if (read.ec != std::errc() || read.ptr != end || count <= 0) return std::nullopt;
  return Millis(count);
}

// For an ask that got no session or no good answer: `no` only if its claim surely has no node.
Answer failed(const Place& place, Problem problem) {
  return refused(place.doubtful || !place.child.empty() ? Said::unknown : Said::no,
                 std::move(problem));
}

}  // namespace

// Each round needs a connected session. It answers, or starts another round because the line
// changed or the connection was lost.
Task<std::optional<Answer>> OwnClaims::ask(Entry& entry, AskJob& job) {
  if (job.instead_ttl > Millis(0)) {
    Replaced replaced{*this, job.instead, job.instead_ttl};
    co_await replaced;
  }
  if (is_withdrawn(entry.claim))
    co_return refused(Said::gone, {Errc::lost, "withdrawn", "this claim was withdrawn before"});
  for (;;) {
    auto [session, problem] = co_await keeper_.session();
    if (!session) co_return failed(place_of(entry), std::move(problem));
    if (job.ticket->answered()) co_return std::nullopt;
    if (session->timeout() < 2 * options_.tick)
      co_return refused(Said::no, too_short(session->timeout(), options_));
    const Outcome listed = co_await line_up(entry, job, session);
    const Place place = place_of(entry);
    if (place.revoked) co_return was_revoked();
    if (place.standing == Standing::ended) co_return not_held();
    if (was_lost(listed.rc) || is_over(listed.rc)) continue;
    if (listed.rc == ZNONODE && place.child.empty()) {
      const Node kind = layout_.contained() ? Node::container : Node::persistent;
      const int rc = co_await make_path(entry.folder, kind, session);
      if (rc == ZOK || was_lost(rc) || is_over(rc)) continue;
      co_return refused(Said::no, problem_of(rc, entry.folder));
    }
    if (listed.rc != ZOK && listed.rc != ZNONODE)
      co_return failed(place, problem_of(listed.rc, entry.folder));
    if (Problem wrong = fault_of_number(place); wrong.errc != Errc{}) {
      Answer answer = refused(Said::no, std::move(wrong));
      co_return co_await give_up(entry, std::move(answer));
    }
    const Line line(listed.names, layout_);
    const Verdict verdict = judge(line, place.child);
    switch (verdict.what) {
      case Verdict::What::missing: {
        // Somebody deleted the node, or its session has ended. The leader answers a sync only while
        // the session lives, so an answer here means: deleted.
        const Outcome synced = co_await session->sync(entry.folder);
        if (was_lost(synced.rc) || is_over(synced.rc)) break;
        const std::lock_guard lock(mutex_);
        entry.place = {};
        co_return refused(Said::gone, {Errc::lost, "entry_deleted", "its node was deleted"});
      }
      case Verdict::What::misfit: {
        Answer answer = refused(Said::no, misfit(line.claims.front().shape, job.shape));
        co_return co_await give_up(entry, std::move(answer));
      }
      case Verdict::What::granted: {
        std::optional<Answer> answer;
        if (co_await grant(entry, job, place, line, verdict, session, answer)) co_return answer;
        break;
      }
      case Verdict::What::waits: {
        if (!job.queue) co_return co_await refuse(entry, line, session);
        const Watched watched = co_await watch(entry, line, verdict, session);
        if (was_lost(watched.rc) || is_over(watched.rc) || watched.moved) break;
        if (watched.rc != ZOK) {
          Answer answer = refused(Said::no, problem_of(watched.rc, entry.folder));
          co_return co_await give_up(entry, std::move(answer));
        }
        Answer answer;
        answer.said = Said::queued;
        answer.holder = watched.holder;
        if (settle(entry, session, [&](Place& at) { at.standing = Standing::waiting; }))
          co_return answer;
        break;
      }
    }
  }
}

// ── getting in line ──────────────────────────────────────────────────────────────────────────────

// Creates the node unless it exists, and lists the children: both in one round trip.
Task<Outcome> OwnClaims::line_up(Entry& entry, const AskJob& job,
                                 std::shared_ptr<Session> session) {
  if (place_of(entry).doubtful) {
    Outcome found;
    found.rc = co_await find_again(entry, session);
    if (found.rc != ZOK && found.rc != ZNONODE) co_return found;
  }
  const Place place = place_of(entry);
  if (!place.child.empty() || place.standing == Standing::ended)
    co_return co_await session->children(entry.folder);

  job.ticket->sent();
  Outcome nothing;
  nothing.rc = ZCONNECTIONLOSS;
  if (job.ticket->answered()) co_return nothing;  // its deadline passed, so nothing is sent
  if (!settle(entry, session, [](Place& at) { at.doubtful = true; })) co_return nothing;
  const std::string stem = entry.folder + "/" + layout_.stem(entry.claim, job.shape);
  Operation creation = session->create(stem, layout_.written({.about = job.about}), Node::in_line);
  Operation listing = session->children(entry.folder);
  const Outcome made = co_await creation;
  Outcome listed = co_await listing;
  if (was_lost(made.rc)) co_return made;
  const bool settled = settle(entry, session, [&](Place& at) {
    at.doubtful = false;
    if (made.rc != ZOK) return;
    at.session = session;
    at.child = made.text.substr(entry.folder.size() + 1);
    at.shape = job.shape;
    at.number = made.stat.czxid;
    at.stamp_ms = made.stat.ctime;
    note_number(at);
    guard_later(entry);
  });
  if (!settled) listed.rc = ZSESSIONEXPIRED;
  if (made.rc != ZOK) listed.rc = made.rc;
  co_return listed;
}

// Looks for a node whose creation was not confirmed. A node of an earlier session is deleted,
// because it would stay in line until that session expires.
Task<int> OwnClaims::find_again(Entry& entry, std::shared_ptr<Session> session) {
  Operation syncing = session->sync(entry.folder);
  Operation listing = session->children(entry.folder);
  const Outcome synced = co_await syncing;
  const Outcome listed = co_await listing;
  if (synced.rc != ZOK) co_return synced.rc;
  if (listed.rc != ZOK && listed.rc != ZNONODE) co_return listed.rc;
  const Line line(listed.names, layout_);
  const Child* child = line.find(entry.claim);
  Outcome seen;
  if (child) {
    seen = co_await session->exists(entry.folder + "/" + child->name);
    if (seen.rc != ZOK && seen.rc != ZNONODE) co_return seen.rc;
    if (seen.rc == ZOK && seen.stat.ephemeralOwner != session->id()) {
      seen = co_await session->remove(entry.folder + "/" + child->name);
      if (seen.rc != ZOK && seen.rc != ZNONODE) co_return seen.rc;
      child = nullptr;
    }
    if (seen.rc == ZNONODE) child = nullptr;
  }
  const bool settled = settle(entry, session, [&](Place& at) {
    at.doubtful = false;
    if (!child) {
      const bool was_held = at.standing == Standing::held || at.standing == Standing::ended;
      at.node_is_gone();
      at.standing = was_held ? Standing::ended : Standing::absent;
      return;
    }
    at.session = session;
    at.child = child->name;
    at.shape = child->shape;
    if (at.number == 0) at.number = seen.stat.czxid;
    if (at.stamp_ms == 0) at.stamp_ms = seen.stat.ctime;
    note_number(at);
    guard_later(entry);
  });
  co_return settled ? listed.rc : ZSESSIONEXPIRED;
}

// ── what the list of children says ───────────────────────────────────────────────────────────────

// False: the line must be read and judged again.
Task<bool> OwnClaims::grant(Entry& entry, const AskJob& job, const Place& place, const Line& line,
                            const Verdict& verdict, std::shared_ptr<Session> session,
                            std::optional<Answer>& answer) {
  if (!line.orphans.empty()) {
    const Delay delay = co_await delay_left(entry, job, place, line.orphans, session);
    if (was_lost(delay.rc) || is_over(delay.rc) || delay.rc == ZNONODE) co_return false;
    if (delay.rc != ZOK || delay.left > Millis(0)) {
      answer = co_await put_off(entry, job, delay, session);
      co_return answer.has_value();
    }
  }
  const std::string marker =
      job.lock_delay > Millis(0) ? layout_.marker(entry.claim, job.lock_delay) : "";
  if (!marker.empty() && place.standing != Standing::held) {
    // Recorded before it is created, so that the marker goes with the claim even if the answer is
    // lost.
    if (!settle(entry, session, [&](Place& at) { at.marker = marker; })) co_return false;
    const Outcome made = co_await session->create(entry.folder + "/" + marker,
                                                  marker_text(*session), Node::persistent);
    if (was_lost(made.rc) || is_over(made.rc)) co_return false;
    if (made.rc != ZOK && made.rc != ZNODEEXISTS) {
      Answer failure = refused(Said::no, problem_of(made.rc, entry.folder));
      answer = co_await give_up(entry, std::move(failure));
      co_return true;
    }
  }
  if (verdict.heard)  // Not awaited: if it is lost, the waiters behind ask again later.
    (void)session->set(entry.folder + "/" + place.child,
                       layout_.written({.granted = true, .about = job.about}), 0);
  co_return settle(entry, session, [&](Place& at) {
    at.standing = Standing::held;
    Answer granted;
    granted.said = Said::yes;
    granted.number = static_cast<std::uint64_t>(at.number);
    granted.ttl = session->timeout();
    granted.store_us = at.stamp_ms * 1000;
    job.ticket->answer(std::move(granted));
  });
}

// nullopt: the line must be read and judged again.
Task<std::optional<Answer>> OwnClaims::put_off(Entry& entry, const AskJob& job, const Delay& delay,
                                               std::shared_ptr<Session> session) {
  Answer answer = refused(
      Said::no, {Errc::busy, "lock_delay", "its holder died, and its lock_delay is not over"});
  if (delay.rc != ZOK) answer.problem = problem_of(delay.rc, entry.folder);
  answer.ttl = delay.left;
  if (delay.rc != ZOK || !job.queue) co_return co_await give_up(entry, std::move(answer));
  answer.said = Said::queued;
  if (!settle(entry, session, [](Place& at) { at.standing = Standing::waiting; }))
    co_return std::nullopt;
  co_return answer;
}

Task<Answer> OwnClaims::refuse(Entry& entry, const Line& line, std::shared_ptr<Session> session) {
  const Child& first = line.claims.front();
  Operation reading = session->get(entry.folder + "/" + first.name);
  Answer answer = refused(Said::no, {Errc::busy, "held", "another holds it"});
  answer = co_await give_up(entry, std::move(answer));
  const Outcome seen = co_await reading;
  if (seen.rc == ZOK)
    answer.holder = describe(layout_, entry.name, first, seen.stat.czxid, seen.text);
  co_return answer;
}

// Returns `answer` once the node is known to be gone; else `unknown`.
Task<Answer> OwnClaims::give_up(Entry& entry, Answer answer) {
  answer.store_us = place_of(entry).stamp_ms * 1000;
  const int rc = co_await leave(entry);
  if (rc == ZOK || rc == ZNONODE || rc == ZSESSIONEXPIRED) co_return answer;
  co_return refused(Said::unknown, problem_of(rc, entry.folder));
}

Task<OwnClaims::Watched> OwnClaims::watch(const Entry& entry, const Line& line,
                                          const Verdict& verdict,
                                          std::shared_ptr<Session> session) {
  const std::size_t granted = stores::granted(line.claims);
  struct Reading {
    const Child* child;
    Operation operation;
    bool watches;
  };
  std::vector<Reading> readings;
  const auto read = [&](const Child& child, bool watches) {
    readings.push_back({&child, session->get(entry.folder + "/" + child.name, watches), watches});
  };
  for (const Child& child : line.claims)
    if (std::ranges::count(verdict.watch, child.name) > 0 &&
        note_watch(entry.folder + "/" + child.name, entry.claim))
      read(child, true);
  const Child& first = line.claims.front();
  if (readings.empty() || readings.front().child != &first) read(first, false);

  Watched watched;
  for (Reading& reading : readings) {
    const Outcome seen = co_await reading.operation;
    if (reading.watches && seen.rc != ZOK)
      forget_watch(entry.folder + "/" + reading.child->name, entry.claim);
    if (seen.rc == ZOK && reading.child == &first)
      watched.holder = describe(layout_, entry.name, first, seen.stat.czxid, seen.text);
    // This claim was granted after we read the list, and will not announce that again.
    const bool let_in = reading.child >= &first + granted && layout_.read_note(seen.text).granted;
    watched.moved |= reading.watches && (seen.rc == ZNONODE || let_in);
    if (reading.watches && seen.rc != ZOK && seen.rc != ZNONODE) watched.rc = seen.rc;
  }
  co_return watched;
}

bool OwnClaims::note_watch(const std::string& path, const ClaimId& claim) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = watches_.equal_range(path);
  for (auto at = first; at != last; ++at)
    if (at->second == claim) return false;
  watches_.emplace(path, claim);
  return true;
}

void OwnClaims::forget_watch(const std::string& path, const ClaimId& claim) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = watches_.equal_range(path);
  for (auto at = first; at != last; ++at)
    if (at->second == claim) return void(watches_.erase(at));
}

// The holders of these markers died. A live holder writes its marker, which contains its session
// timeout, every sixth of that timeout, and the server stamps each write. So the session ended at
// most a timeout and a third after the last write. The delay counts from then, in the server's
// time. Markers whose delay is over are removed.
Task<OwnClaims::Delay> OwnClaims::delay_left(const Entry& entry, const AskJob& job,
                                             const Place& place, const std::vector<Marker>& orphans,
                                             std::shared_ptr<Session> session) {
  // ZooKeeper tells its time only in the answer to a write.
  const std::string text = layout_.written({.about = job.about});
  const Outcome now = co_await session->set(entry.folder + "/" + place.child, text);
  Delay delay{.rc = now.rc};
  for (std::size_t i = 0; delay.rc == ZOK && i < orphans.size(); ++i) {
    const std::string path = entry.folder + "/" + orphans[i].name;
    Outcome seen = co_await session->get(path);
    if (seen.rc == ZNOAUTH)
      seen = co_await session->exists(path);  // shows its age without the right to read it
    if (seen.rc == ZNONODE) continue;
    delay.rc = seen.rc;
    const Millis timeout = read_timeout(seen.text).value_or(options_.session);
    const Millis ends = Millis(seen.stat.mtime) + timeout + timeout / 3 + orphans[i].delay;
    const Millis rest = ends - Millis(now.stat.mtime);
    delay.left = std::max(delay.left, rest);
    if (seen.rc == ZOK && rest <= Millis(0)) co_await session->remove(path);
  }
  co_return delay;
}

}  // namespace holdfast::stores::zookeeper
