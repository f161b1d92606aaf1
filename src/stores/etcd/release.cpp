// How claims end: released by their owners, or revoked by others.
#include "stores/etcd/asked.hpp"
#include "stores/etcd/store.hpp"

namespace holdfast::stores::etcd {
namespace {

Answer unanswered(const Reply& reply) {
  Answer answer;
  answer.said = reply.outcome == Outcome::refused ? Said::no : Said::unknown;
  answer.problem = reply.problem;
  return answer;
}

}  // namespace

void EtcdStore::release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept {
  courier_.start(call, drops.size(), [&](auto ticket) {
    std::vector<Drop> all(drops.begin(), drops.end());
    for (Drop& drop : all) drop.name = {};
    answer_release(std::move(all), in_time(call), std::move(ticket));
  });
}

Flow EtcdStore::answer_release(std::vector<Drop> drops, BootTime deadline,
                               Ticket<std::span<Answer>> ticket) {
  ticket->sent();
  std::vector<Later<Answer>> under_way;
  for (const Drop& drop : drops)
    under_way.push_back(withdraw(drop.claim, drop.doubtful, drop.ttl, deadline));
  std::vector<Answer> answers;
  for (auto& each : under_way) answers.push_back(co_await each);
  ticket->answer(std::move(answers));
}

Later<Answer> EtcdStore::withdraw(ClaimId claim, bool doubtful, Millis ttl, BootTime deadline) {
  if (doubtful) remember_withdrawn(claim, ttl);
  const EntryPtr entry = find(claim);
  if (!entry) co_return not_held();
  const Turn::Held turn = co_await entry->turn.take();
  if (entry->over) co_return not_held();
  co_return co_await take_out(entry, doubtful, deadline);
}

// If a copy of this arrives late, another claim may use the key, but with another create revision.
Later<Removed> EtcdStore::remove_own(EntryPtr entry, BootTime deadline) {
  const std::string end = layout_.key_end(entry->key);
  if (entry->created == 0) co_return co_await client_.remove(entry->key, end, deadline);
  Transaction step;
  step.when = {{Condition::Of::created, entry->key, entry->created}};
  step.then = {{.what = Operation::What::remove, .key = entry->key, .end = end}};
  const Transacted done = co_await client_.transact(std::move(step), deadline);
  Removed removed;
  static_cast<Reply&>(removed) = static_cast<const Reply&>(done);
  removed.count = done.held ? 1 : 0;
  co_return removed;
}

// If a copy of the claim may still arrive, revokes its lease, too, so that etcd refuses the copy.
Later<Answer> EtcdStore::take_out(EntryPtr entry, bool doubtful, BootTime deadline) {
  Removed removed;
  removed.outcome = Outcome::done;
  if (entry->created != 0 || entry->doubtful) removed = co_await remove_own(entry, deadline);
  if (!removed.done()) co_return unanswered(removed);
  // A release leaves no delay, even if its key had ended before or a copy of it may still come.
  const bool delay_stays = entry->delay_written && (removed.count == 0 || doubtful);
  if (entry->delay_lease && (delay_stays || entry->doubtful)) {
    const Reply ended = co_await client_.revoke(entry->delay_lease->id, deadline);
    if (!ended.done() && !ended.lease_is_gone()) co_return unanswered(ended);
    const std::lock_guard lock(mutex_);
    entry->delay_lease.reset();
  }
  entry->delay_written = false;
  if ((doubtful || entry->doubtful) && entry->lease) {
    const Reply ended = co_await client_.revoke(entry->lease->id, deadline);
    if (!ended.done() && !ended.lease_is_gone()) co_return unanswered(ended);
    const std::lock_guard lock(mutex_);
    entry->lease.reset();
  }
  forget(*entry);
  Answer answer = removed.count > 0 ? Answer{} : not_held();
  if (removed.count > 0) answer.said = Said::yes;
  co_return answer;
}

// ── revocation ───────────────────────────────────────────────────────────────────────────────────

void EtcdStore::revoke(std::string_view name, bool now, Pending<Answer>& call) noexcept {
  courier_.start(call, [&](auto ticket) {
    answer_revoke(std::string(name), now, in_time(call), std::move(ticket));
  });
}

Flow EtcdStore::answer_revoke(std::string name, bool now, BootTime deadline,
                              Ticket<Answer> ticket) {
  const std::string prefix = layout_.prefix(name);
  constexpr std::size_t most_at_once = 50;  // keys of one transaction
  constexpr int most_rounds = 8;
  for (int round = 0; round < most_rounds; ++round) {
    const Found found = co_await client_.find(prefix, end_of(prefix), 0, deadline);
    if (!found.done()) co_return ticket->answer(unanswered(found));
    Row row = layout_.read(prefix, found.all);
    row.line.resize(row.in());
    if (row.line.empty()) co_return ticket->answer(gone("not_held", "nobody holds it"));
    ticket->sent();
    bool changed = false;  // by another, in between
    for (std::size_t begin = 0; begin < row.line.size() && !changed; begin += most_at_once) {
      Transaction step;
      for (std::size_t at = begin; at < std::min(begin + most_at_once, row.line.size()); ++at)
        add_revocation(step, row.line[at], now);
      const Transacted revoked = co_await client_.transact(std::move(step), deadline);
      if (!revoked.done()) co_return ticket->answer(unanswered(revoked));
      changed = !revoked.held;
    }
    if (changed) continue;
    Answer answer;
    answer.said = Said::yes;
    co_return ticket->answer(std::move(answer));
  }
  ticket->answer(refusal(Errc::unavailable, "too_slow", "its holders change all the time"));
}

// Only if it is as it was read, because its owner may have released it and another may hold it.
void EtcdStore::add_revocation(Transaction& step, const Standing& holder, bool now) const {
  step.when.push_back({Condition::Of::modified, holder.key, holder.modified});
  if (now) {
    step.then.push_back(
        {.what = Operation::What::remove, .key = holder.key, .end = layout_.key_end(holder.key)});
    return;
  }
  Standing told = holder;
  told.revoked = true;
  step.then.push_back({.what = Operation::What::put,
                       .key = told.key,
                       .value = layout_.write(told),
                       .keep_lease = true});
}

}  // namespace holdfast::stores::etcd
