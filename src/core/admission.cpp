#include "core/admission.hpp"

#include <algorithm>
#include <utility>

#include "core/teeth.hpp"
#include "core/validity.hpp"

namespace holdfast::core {
namespace {

constexpr Millis longest = std::chrono::hours(24 * 400);

std::int64_t to_us(Millis time) {
  return std::chrono::microseconds(std::clamp(time, Millis(0), longest)).count();
}
Millis to_millis(std::int64_t us) { return Millis(us / 1000); }
Millis to_millis_up(std::int64_t us) { return Millis((us + 999) / 1000); }

Answer plain(Said said, std::int64_t now_us) {
  Answer answer;
  answer.said = said;
  answer.store_us = now_us;
  return answer;
}

Answer gone(std::int64_t now_us, const char* reason, const char* text) {
  Answer answer = plain(Said::gone, now_us);
  answer.problem = {Errc::lost, reason, text};
  return answer;
}

Answer granted(const Admission::Entry& entry, std::int64_t now_us) {
  Answer answer = plain(Said::yes, now_us);
  answer.number = entry.number;
  answer.ttl = to_millis(entry.ttl_us);
  return answer;
}

std::string describe_shape(Kind kind, std::uint32_t capacity) {
  std::string shape(to_string(kind));
  if (kind == Kind::semaphore) shape += " of " + std::to_string(capacity);
  return shape;
}

void touch(Admission::Entry& entry) {
  if (entry.change == Admission::Change::none) entry.change = Admission::Change::changed;
}

}  // namespace

// ── steps ────────────────────────────────────────────────────────────────────────────────────────

Answer Admission::ask(const Ask& ask, const Party& party, std::int64_t now_us, Notices& notices) {
  expire(now_us);
  if (ask.instead_ttl > Millis(0)) withdraw(ask.instead, true, ask.instead_ttl, now_us);

  Entry* mine = find(ask.claim);
  if (mutated(Mutation::mark_ignored) && mine && mine->standing == Standing::mark) {
    remove(*mine);
    mine = nullptr;
  }
  if (mine && mine->standing == Standing::ended) {  // its holder is alive, so no delay is due
    remove(*mine);
    mine = nullptr;
  }
  const bool known = mine != nullptr;
  if (known && (mine->standing == Standing::mark || mine->revoked)) {
    const bool revoked = mine->revoked;
    settle(now_us, notices);
    return revoked ? gone(now_us, "revoked", "it was revoked")
                   : gone(now_us, "withdrawn", "this claim was withdrawn before");
  }
  if (!known) {
    if (Problem problem = misfit(ask); problem.errc != Errc{}) {
      settle(now_us, notices);
      Answer answer = plain(Said::no, now_us);
      answer.problem = std::move(problem);
      return answer;
    }
    mine = &append(ask, party, now_us);
  } else {
    // The asker counts its validity from this ask, so a holder's ttl restarts with it.
    mine->ttl_us = to_us(ask.ttl);
    mine->expires_us = now_us + mine->ttl_us;
    if (!mutated(Mutation::old_session)) mine->party = party;
    touch(*mine);
  }
  if (!ask.fair && mine->standing == Standing::waiting && fits(*mine)) grant(*mine, now_us);
  settle(now_us, notices, &ask.claim);

  if (mine->standing == Standing::held) return granted(*mine, now_us);
  if (known || ask.queue) return in_line(ask, *mine, now_us);
  remove(*mine);
  return busy(ask.name, now_us);
}

Answer Admission::renew(const Keep& keep, std::int64_t now_us, Notices& notices) {
  expire(now_us);
  Answer answer = gone(now_us, "not_held", "it is not held by this claim");
  if (Entry* mine = find(keep.claim); mine && mine->standing == Standing::held) {
    if (mine->revoked) {
      answer = gone(now_us, "revoked", "it was revoked");
    } else if (keep.weight == 0 || keep.weight > mine->weight) {
      answer = plain(Said::no, now_us);
      answer.problem = {Errc::invalid, "weight", "a renewal can only lower the weight"};
    } else {
      mine->weight = keep.weight;
      mine->ttl_us = to_us(keep.ttl);
      mine->expires_us = now_us + mine->ttl_us;
      touch(*mine);
      answer = granted(*mine, now_us);
    }
  }
  settle(now_us, notices);
  return answer;
}

Answer Admission::release(const Drop& drop, std::int64_t now_us, Notices& notices) {
  expire(now_us);
  const bool was_there = withdraw(drop.claim, drop.doubtful, drop.ttl, now_us);
  settle(now_us, notices);
  return was_there ? plain(Said::yes, now_us)
                   : gone(now_us, "not_held", "it is not held by this claim");
}

Answer Admission::revoke(bool now, std::int64_t now_us, Notices& notices) {
  expire(now_us);
  bool any = false;
  for (std::size_t i = 0; i < entries_.size();) {
    Entry& entry = entries_[i];
    if (entry.standing != Standing::held) {
      ++i;
      continue;
    }
    any = true;
    notices.push_back({Notice::What::gone, entry.claim, entry.party, entry.number, Millis(0)});
    if (now) {
      remove(entry);
    } else {
      entry.revoked = true;
      touch(entry);
      ++i;
    }
  }
  settle(now_us, notices);
  return any ? plain(Said::yes, now_us) : gone(now_us, "not_held", "nobody holds it");
}

void Admission::died(const Party& party, std::int64_t now_us) {
  for (std::size_t i = 0; i < entries_.size();) {
    Entry& entry = entries_[i];
    if (entry.party != party || !entry.live()) {
      ++i;
    } else if (entry.standing == Standing::held) {
      end_hold(entry, now_us);
    } else {
      remove(entry);
    }
  }
}

void Admission::expire(std::int64_t now_us) {
  for (std::size_t i = 0; i < entries_.size();) {
    Entry& entry = entries_[i];
    const bool stays = entry.standing == Standing::held && mutated(Mutation::never_expires);
    if (entry.expires_us > now_us || stays) {
      ++i;
    } else if (entry.standing == Standing::held) {
      end_hold(entry, entry.expires_us);
    } else {
      remove(entry);
    }
  }
}

// ── parts of the steps ───────────────────────────────────────────────────────────────────────────

Admission::Entry* Admission::find(const ClaimId& claim) noexcept {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.claim == claim; });
  return at == entries_.end() ? nullptr : &*at;
}

const Admission::Entry* Admission::first_of(Standing standing) const noexcept {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.standing == standing; });
  return at == entries_.end() ? nullptr : &*at;
}

Admission::Entry& Admission::append(const Ask& ask, const Party& party, std::int64_t now_us) {
  Entry entry;
  entry.claim = ask.claim;
  entry.standing = Standing::waiting;
  entry.weight = ask.weight;
  entry.ttl_us = to_us(ask.ttl);
  entry.since_us = now_us;
  entry.expires_us = now_us + entry.ttl_us;
  entry.lock_delay_us = to_us(ask.lock_delay);
  entry.position = entries_.empty() ? 1 : entries_.back().position + 1;
  entry.party = party;
  entry.about = ask.about;
  if (head_.kind != ask.kind || head_.capacity != ask.capacity) {
    head_.kind = ask.kind;
    head_.capacity = ask.capacity;
    head_changed_ = true;
  }
  if (mutated(Mutation::newest_first)) return *entries_.insert(entries_.begin(), std::move(entry));
  return entries_.emplace_back(std::move(entry));
}

void Admission::remove(Entry& entry) {
  if (entry.change != Change::fresh) removed_.push_back(entry.position);
  entries_.erase(entries_.begin() + (&entry - entries_.data()));
}

// The holder did not release it, so its last writes may still be on their way.
void Admission::end_hold(Entry& entry, std::int64_t died_us) {
  if (entry.lock_delay_us == 0) return remove(entry);
  entry.standing = Standing::ended;
  entry.revoked = false;
  entry.expires_us = died_us + entry.lock_delay_us;
  entry.party = {};
  entry.about.clear();
  touch(entry);
}

bool Admission::withdraw(const ClaimId& claim, bool doubtful, Millis ttl, std::int64_t now_us) {
  Entry* entry = find(claim);
  const bool was_there = entry && entry->live();
  if (!doubtful) {
    if (entry && entry->standing != Standing::mark) remove(*entry);
    return was_there;
  }
  if (!entry) {
    Entry mark;
    mark.claim = claim;
    mark.standing = Standing::mark;
    mark.position = entries_.empty() ? 1 : entries_.back().position + 1;
    entry = &entries_.emplace_back(std::move(mark));
  }
  const std::int64_t marked_until_us = entry->standing == Standing::mark ? entry->expires_us : 0;
  entry->standing = Standing::mark;
  entry->revoked = false;
  entry->since_us = now_us;
  entry->expires_us = std::max(marked_until_us, now_us + to_us(ttl));
  entry->about.clear();
  touch(*entry);
  return was_there;
}

bool Admission::fits(const Entry& entry) const noexcept {
  std::uint64_t taken = entry.weight;
  for (const Entry& other : entries_) {
    if (other.standing == Standing::ended) return false;
    if (other.standing == Standing::held) taken += other.weight;
  }
  return taken <= head_.capacity + mutated(Mutation::one_too_many);
}

void Admission::grant(Entry& entry, std::int64_t now_us) {
  entry.standing = Standing::held;
  entry.number = ++head_.number;
  entry.since_us = now_us;
  entry.expires_us = now_us + entry.ttl_us;
  head_changed_ = true;
  touch(entry);
}

// `silent` is the claim that this step answers, so it needs no notice.
void Admission::settle(std::int64_t now_us, Notices& notices, const ClaimId* silent) {
  for (Entry& entry : entries_) {
    if (entry.standing != Standing::waiting) continue;
    if (!fits(entry)) return;
    grant(entry, now_us);
    if (silent && entry.claim == *silent) continue;
    if (mutated(Mutation::told_for_ever)) entry.expires_us = now_us + to_us(longest);
    notices.push_back(
        {Notice::What::granted, entry.claim, entry.party, entry.number, to_millis(entry.ttl_us)});
  }
}

Problem Admission::misfit(const Ask& ask) const {
  if (ask.weight == 0 || ask.weight > ask.capacity)
    return {Errc::invalid, "weight", "the weight must be at least 1 and at most the capacity"};
  const bool live = std::any_of(entries_.begin(), entries_.end(),
                                [](const Entry& entry) { return entry.live(); });
  if (!live || (head_.kind == ask.kind && head_.capacity == ask.capacity)) return {};
  return {Errc::invalid, "kind",
          "it is in use as " + describe_shape(head_.kind, head_.capacity) + ", asked for as " +
              describe_shape(ask.kind, ask.capacity)};
}

// ── descriptions and refusals ────────────────────────────────────────────────────────────────────

Holder Admission::describe(const Entry& entry, std::string_view name, std::int64_t now_us) const {
  Holder holder;
  holder.name = name;
  holder.who = entry.about;
  holder.token = Token{entry.number * turns};
  holder.ttl_left = to_millis(std::max<std::int64_t>(0, entry.expires_us - now_us));
  holder.held_for = to_millis(std::max<std::int64_t>(0, now_us - entry.since_us));
  holder.weight = entry.weight;
  holder.capacity = head_.capacity;
  holder.waits = entry.standing == Standing::waiting;
  return holder;
}

std::vector<Holder> Admission::describe(std::string_view name, std::int64_t now_us) const {
  std::vector<Holder> all;
  for (const Standing standing : {Standing::held, Standing::waiting})
    for (const Entry& entry : entries_)
      if (entry.standing == standing && entry.expires_us > now_us)
        all.push_back(describe(entry, name, now_us));
  return all;
}

Answer Admission::in_line(const Ask& ask, const Entry& mine, std::int64_t now_us) const {
  Answer answer = plain(Said::queued, now_us);
  if (&mine == first_of(Standing::waiting)) {
    const std::int64_t wait_us = next_chance(mine, now_us) - now_us;
    answer.ttl = std::max(Millis(1), to_millis_up(wait_us));
  }
  if (const Entry* holder = first_of(Standing::held))
    answer.holder = describe(*holder, ask.name, now_us);
  return answer;
}

Answer Admission::busy(std::string_view name, std::int64_t now_us) const {
  Answer answer = plain(Said::no, now_us);
  if (const Entry* holder = first_of(Standing::held)) {
    answer.holder = describe(*holder, name, now_us);
    answer.problem = {Errc::busy, "held", "another holds it"};
  } else {
    answer.problem = {Errc::busy, "lock_delay", "its holder died, and its lock_delay is not over"};
  }
  return answer;
}

// When enough holders will have expired to let it in, if none of them renews.
std::int64_t Admission::next_chance(const Entry& waiting, std::int64_t now_us) const {
  std::vector<std::pair<std::int64_t, std::uint32_t>> ends;
  std::uint64_t taken = waiting.weight;
  std::int64_t delayed_until_us = now_us;
  for (const Entry& entry : entries_) {
    if (entry.standing == Standing::ended)
      delayed_until_us = std::max(delayed_until_us, entry.expires_us);
    if (entry.standing != Standing::held) continue;
    ends.emplace_back(entry.expires_us, entry.weight);
    taken += entry.weight;
  }
  std::sort(ends.begin(), ends.end());
  std::int64_t chance_us = now_us;
  for (const auto& [expires_us, weight] : ends) {
    if (taken <= head_.capacity) break;
    taken -= weight;
    chance_us = expires_us;
  }
  return std::max(chance_us, delayed_until_us);
}

std::vector<Party> Admission::ahead_of(const ClaimId& claim) const {
  std::vector<Party> holders;
  const Entry* before = nullptr;
  bool reached = false;
  for (const Entry& entry : entries_) {
    if (entry.claim == claim) reached = true;
    if (entry.standing == Standing::held) holders.push_back(entry.party);
    if (entry.standing == Standing::waiting && !reached) before = &entry;
  }
  return before ? std::vector{before->party} : holders;
}

void Admission::number_above(std::uint64_t number) noexcept {
  head_.number = std::max(head_.number, number);
}

void Admission::saved() noexcept {
  removed_.clear();
  head_changed_ = false;
  for (Entry& entry : entries_) entry.change = Change::none;
}

}  // namespace holdfast::core
