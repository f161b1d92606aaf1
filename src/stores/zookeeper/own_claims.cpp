#include "stores/zookeeper/own_claims.hpp"

#include <algorithm>
#include <utility>

#include "stores/zookeeper/trouble.hpp"

namespace holdfast::stores::zookeeper {
namespace {

constexpr std::int64_t number_limit = std::int64_t(1) << 53;

}  // namespace

// ── calls ────────────────────────────────────────────────────────────────────────────────────────

void OwnClaims::ask(const Ask& ask, Courier::Ticket<Answer> ticket) {
  if (ask.weight == 0 || ask.weight > ask.capacity)
    return ticket->answer(refused(
        Said::no,
        {Errc::invalid, "weight", "the weight must be at least 1 and at most the capacity"}));
  auto folder = layout_.lock(ask.name);
  if (!folder)
    return ticket->answer(refused(
        Said::no, {Errc::invalid, "name", "in a dialect a name is a path: write part/part"}));
  if (!keeper_.connected()) ticket->trouble(keeper_.unreachable());
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& at = entries_[ask.claim];
    if (!at) at = std::make_shared<Entry>(ask.claim, ask.name, std::move(*folder));
    at->jobs.push_back(AskJob{{ask.kind, ask.capacity, ask.weight},
                              ask.instead,
                              ask.instead_ttl,
                              ask.lock_delay,
                              ask.queue,
                              std::string(ask.about),
                              std::move(ticket)});
    if (std::exchange(at->served, true)) return;
    entry = at;
  }
  keeper_.depended_on();
  begin(entry);
}

void OwnClaims::renew(std::span<const Keep> keeps, Courier::Ticket<std::span<Answer>> ticket) {
  ticket->sent();
  const auto batch = std::make_shared<Batch>(std::move(ticket), keeps.size());
  for (std::size_t i = 0; i < keeps.size(); ++i)
    if (!hand_in(keeps[i].claim, KeepJob{keeps[i].weight, batch, i})) batch->answer(i, not_held());
}

void OwnClaims::release(std::span<const Drop> drops, Courier::Ticket<std::span<Answer>> ticket) {
  ticket->sent();
  const auto batch = std::make_shared<Batch>(std::move(ticket), drops.size());
  for (std::size_t i = 0; i < drops.size(); ++i) {
    if (drops[i].doubtful) withdraw(drops[i].claim, drops[i].ttl);
    if (!hand_in(drops[i].claim, DropJob{batch, i})) batch->answer(i, not_held());
  }
}

// ── entries and their jobs ───────────────────────────────────────────────────────────────────────

bool OwnClaims::hand_in(const ClaimId& claim, Job job) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(claim);
    if (found == entries_.end()) return false;
    entry = found->second;
    entry->jobs.push_back(std::move(job));
    if (std::exchange(entry->served, true)) return true;
  }
  begin(entry);
  return true;
}

// Without memory, the jobs stay queued until somebody hands in the next one.
void OwnClaims::begin(const std::shared_ptr<Entry>& entry) {
  if (serve(entry).begun) return;
  const std::lock_guard lock(mutex_);
  entry->served = false;
}

// Without memory it ends in the middle: then no flow serves the entry, and its calls are answered
// at their deadlines.
Flow OwnClaims::serve(std::shared_ptr<Entry> entry) {
  struct Turn {
    ~Turn() {
      if (over) return;
      const std::lock_guard lock(claims.mutex_);
      entry.served = false;
      entry.place.doubtful = true;
    }
    OwnClaims& claims;
    Entry& entry;
    bool over = false;
  } turn{*this, *entry};

  for (;;) {
    std::optional<Job> job = next(entry);
    if (!job) break;
    if (auto* asked = std::get_if<AskJob>(&*job)) {
      std::optional<Answer> answer = co_await ask(*entry, *asked);
      if (answer) asked->ticket->answer(std::move(*answer));
    } else if (auto* kept = std::get_if<KeepJob>(&*job)) {
      Answer answer = co_await keep(*entry, *kept);
      kept->batch->answer(kept->index, std::move(answer));
    } else if (auto* dropped = std::get_if<DropJob>(&*job)) {
      Answer answer = co_await drop(*entry);
      if (dropped->batch) dropped->batch->answer(dropped->index, std::move(answer));
      if (dropped->then) dropped->then.resume();
    }
  }
  turn.over = true;
}

std::optional<Job> OwnClaims::next(const std::shared_ptr<Entry>& entry) {
  const std::lock_guard lock(mutex_);
  if (!entry->jobs.empty()) {
    std::optional<Job> job(std::move(entry->jobs.front()));
    entry->jobs.pop_front();
    return job;
  }
  entry->served = false;
  // An entry whose node exists stays until the node is removed, because the core may withdraw it
  // only later.
  const Place& place = entry->place;
  if (place.standing == Standing::absent && place.child.empty() && !place.doubtful)
    entries_.erase(entry->claim);
  return std::nullopt;
}

Place OwnClaims::place_of(const Entry& entry) {
  const std::lock_guard lock(mutex_);
  return entry.place;
}

bool OwnClaims::is_withdrawn(const ClaimId& claim) {
  const std::lock_guard lock(mutex_);
  const auto found = withdrawn_.find(claim);
  return found != withdrawn_.end() && found->second > BootClock::now();
}

void OwnClaims::withdraw(const ClaimId& claim, Millis ttl) {
  const BootTime now = BootClock::now();
  const std::lock_guard lock(mutex_);
  std::erase_if(withdrawn_, [&](const auto& mark) { return mark.second <= now; });
  withdrawn_[claim] = now + ttl;
}

void OwnClaims::note_number(const Place& place) noexcept {
  highest_ = std::max(highest_, place.number);
}

Problem OwnClaims::fault_of_number(const Place& place) {
  const std::lock_guard lock(mutex_);
  if (place.number >= number_limit)
    return {Errc::corrupt, "number", "the server's transaction number has more than 53 bits"};
  if (place.number != 0 && place.number <= forgotten_below_) return went_back();
  return {};
}

// ── events ───────────────────────────────────────────────────────────────────────────────────────

bool OwnClaims::depend() noexcept {
  const std::lock_guard lock(mutex_);
  return !entries_.empty();
}

// Gives its hints under the mutex, so a grant that was answered under the mutex precedes them, and
// every later step sees that the session is over.
void OwnClaims::evict(bool told) noexcept {
  const std::lock_guard lock(mutex_);
  watches_.clear();
  unguarded_.clear();
  forgotten_below_ = highest_;
  for (const auto& known : entries_) {
    const auto entry = known.second;
    const Standing was = entry->place.standing;
    const bool may_be_there = !told && (entry->place.doubtful || !entry->place.child.empty());
    entry->place.node_is_gone();
    entry->place.doubtful = may_be_there;
    entry->place.standing = Standing::absent;
    if (was == Standing::held) {
      entry->place.standing = Standing::ended;
      courier_.tell([entry](Hints& hints) { hints.gone(entry->name, entry->claim); });
    } else if (was == Standing::ended) {
      entry->place.standing = Standing::ended;
    } else {
      courier_.tell([entry](Hints& hints) { hints.look(entry->name); });
    }
  }
}

// Writes the markers of what we hold again, because a lock_delay counts from the last such write.
void OwnClaims::prove(Session& session) noexcept try {
  std::vector<std::string> markers;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& known : entries_)
      if (known.second->place.standing == Standing::held && !known.second->place.marker.empty())
        markers.push_back(known.second->folder + "/" + known.second->place.marker);
  }
  for (const std::string& marker : markers) (void)session.set(marker, marker_text(session));
} catch (const std::bad_alloc&) {
  // The next proof writes them.
}

void OwnClaims::changed(const std::string& path, bool deleted) noexcept try {
  std::vector<std::pair<std::shared_ptr<Entry>, Place>> own;
  {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = watches_.equal_range(path);
    std::vector<ClaimId> watchers;
    for (auto at = first; at != last; ++at) watchers.push_back(at->second);
    watches_.erase(first, last);
    for (const ClaimId& claim : watchers) {
      const auto found = entries_.find(claim);
      if (found == entries_.end()) continue;
      const auto& entry = found->second;
      if (path != entry->folder + "/" + entry->place.child) {
        if (entry->place.standing != Standing::held)
          courier_.tell([entry](Hints& hints) { hints.look(entry->name); });
      } else {
        own.emplace_back(entry, entry->place);
      }
    }
  }
  for (const auto& [entry, place] : own) {
    if (deleted) {
      end_deleted(entry, place);
    } else {
      guard(entry);
    }
  }
} catch (const std::bad_alloc&) {
  courier_.tell([](Hints& hints) { hints.look({}); });
}

}  // namespace holdfast::stores::zookeeper
