// How a claim gets into the line, and what the core is told about it.
#include <algorithm>

#include "stores/etcd/asked.hpp"
#include "stores/etcd/store.hpp"

namespace holdfast::stores::etcd {
namespace {

// The core counts a lease by the difference between the stamps of two answers.
std::int64_t stamp(BootTime time) noexcept {
  return std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count();
}

Answer foreign() {
  return refusal(Errc::busy, "foreign",
                 "the keys of this name have the layout of a newer version of holdfast; they were "
                 "left alone: use that version");
}

}  // namespace

void EtcdStore::ask(const Ask& ask, Pending<Answer>& call) noexcept {
  courier_.start(call, [&](auto ticket) {
    answer_ask(std::make_shared<const Asked>(ask, in_time(call)), std::move(ticket));
  });
}

Flow EtcdStore::answer_ask(AskedPtr asked, Ticket<Answer> ticket) {
  const Ask& ask = asked->ask;
  if (ask.instead_ttl > Millis(0)) {
    Answer dropped = co_await withdraw(ask.instead, true, ask.instead_ttl, asked->deadline);
    if (dropped.said != Said::yes && dropped.said != Said::gone) {
      dropped.said = Said::no;  // this ask has not begun
      co_return ticket->answer(std::move(dropped));
    }
  }
  if (in_the_way(ask))
    co_return ticket->answer(
        refusal(Errc::invalid, "prefix",
                "with dialect=etcd a name and \"/\" must not begin another that is in use: both "
                "would stand in one line"));
  for (;;) {
    const EntryPtr entry = enter(ask);
    if (!entry) co_return ticket->answer(gone("withdrawn", "this claim was withdrawn before"));
    const Turn::Held turn = co_await entry->turn.take();
    if (entry->over) continue;  // the previous ask left no trace: begin with a new entry
    co_return ticket->answer(co_await stand(entry, asked, ticket));
  }
}

Later<Answer> EtcdStore::stand(EntryPtr entry, AskedPtr asked, Ticket<Answer> ticket) {
  // If the name is free, one transaction does it all; if not, a mere try leaves no trace.
  bool if_free = !asked->ask.queue || entry->lock_delay > Millis(0);
  Reply last;
  constexpr int most_rounds = 8;  // each starts from what the previous one found
  for (int round = 0; round < most_rounds; ++round) {
    LeaseKept kept;
    if (last = co_await have_lease(entry, kept, asked->deadline); !last.done()) break;
    if (if_free && entry->lock_delay > Millis(0) && entry->created == 0)
      if (last = co_await have_delay_lease(entry, asked->deadline); !last.done()) break;
    if (ticket) ticket->sent();
    if (ticket && ticket->answered()) break;
    Seen seen = co_await look(entry, if_free, asked->deadline);
    entry->doubtful |= seen.outcome == Outcome::unknown;
    last = static_cast<const Reply&>(seen);
    if (seen.lease_is_gone()) {
      give_up_lease(*entry);
      continue;
    }
    if (!seen.done()) break;
    const bool was_placed = entry->created != 0;
    const auto place = settle(*entry, seen, kept);
    // Other software's keys are not in the line and block nobody: it gets in line beside them.
    const bool refused = !seen.row.line.empty() || seen.row.delayed();
    if (!place && !was_placed && !asked->ask.queue && entry->shape.whole() && refused) {
      Answer answer = seen.row.foreign ? foreign() : busy(*entry, seen.row);
      co_return co_await leave(entry, std::move(answer), asked->deadline);
    }
    if (!place) {
      if (was_placed) give_up_lease(*entry);  // its place is gone: back in line
      if_free = false;
      continue;
    }
    if (auto answer = co_await decide(entry, asked, seen, *place)) co_return std::move(*answer);
  }
  co_return failed(entry, last);
}

// Empty: something has changed, look again.
Later<std::optional<Answer>> EtcdStore::decide(EntryPtr entry, AskedPtr asked, const Seen& seen,
                                               std::size_t place) {
  const Row& row = seen.row;
  const Standing& mine = row.line[place];
  const BootTime deadline = asked->deadline;
  if (mine.claim != ClaimId{} && mine.claim != entry->claim) {  // an earlier claim on this lease
    if (const Removed removed = co_await remove_own(entry, deadline); removed.done())
      set_placed(*entry, 0, 0);
    co_return std::nullopt;
  }
  if (seen.went_back)
    co_return co_await leave(entry,
                             refusal(Errc::corrupt, "fencing_regressed",
                                     "etcd has gone back to an earlier state, as after restoring a "
                                     "snapshot: its tokens would not grow any more"),
                             deadline);
  if (row.foreign) {
    Answer answer = foreign();
    co_return co_await leave(entry, std::move(answer), deadline);
  }
  if (const Problem problem = misfit(row.line.front().shape, mine.shape); problem.errc != Errc{})
    co_return co_await leave(entry, refusal(problem), deadline);
  if (mine.revoked) co_return revoked();

  const bool fits = place < granted(row.line);
  if (fits && !row.delayed()) co_return co_await let_in(entry, asked, row, place);
  if (!asked->ask.queue) co_return co_await leave(entry, busy(*entry, row), deadline);
  if (fits) {
    watch_all(entry, seen.revision);  // only the delay keeps it out
  } else {
    watch_ahead(entry, row, place, seen.revision);
  }
  watch_own_later(entry);
  {
    const std::lock_guard lock(mutex_);
    entry->asked = asked;
  }
  Answer answer;
  answer.said = Said::queued;
  answer.store_us = stamp(asked->began);
  answer.ttl = Millis(lease_of(*entry).ttl) / 3;  // the next ask keeps it alive
  if (row.in() > 0) answer.holder = describe(entry->name, row.line.front(), false);
  co_return answer;
}

Later<std::optional<Answer>> EtcdStore::let_in(EntryPtr entry, AskedPtr asked, const Row& row,
                                               std::size_t place) {
  const bool waits_behind = wakes_next(row.line, place);
  if (entry->lock_delay > Millis(0) && !entry->delay_written &&
      !co_await write_own_delay(entry, asked->deadline))
    co_return std::nullopt;
  // The core counts from before this ask began, but the lease counts from its last proof.
  const Lease lease = lease_of(*entry);
  const Millis left = std::chrono::floor<Millis>(lease.end() - asked->began);
  if (left < lease.ttl / 2) co_return std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    entry->held = true;
  }
  if (waits_behind) wake_next(entry);
  stop_watching_ahead(*entry);
  watch_own_later(entry);
  Answer answer;
  answer.said = Said::yes;
  answer.store_us = stamp(asked->began);
  answer.number = static_cast<std::uint64_t>(entry->created);
  answer.ttl = std::min<Millis>(left, lease.ttl);
  co_return answer;
}

Answer EtcdStore::busy(const Entry& entry, const Row& row) const {
  const bool held = row.in() > 0 && row.line.front().key != entry.key;
  if (!held)
    return refusal(Errc::busy, "lock_delay", "its holder died, and its lock_delay is not over");
  Answer answer = refusal(Errc::busy, "held", "another holds it");
  answer.holder = describe(entry.name, row.line.front(), false);
  return answer;
}

// What a waiter waits for has changed: the store looks at once, before the core asks again.
Flow EtcdStore::come_forward(EntryPtr entry, std::int64_t revision) {
  const Turn::Held turn = co_await entry->turn.take();
  AskedPtr asked;
  {
    const std::lock_guard lock(mutex_);
    if (!entry->over && !entry->held && entry->listed < revision) asked = entry->asked;
  }
  if (!asked) co_return;
  asked = std::make_shared<const Asked>(asked->ask, BootClock::now() + std::chrono::seconds(5));
  const Answer answer = co_await stand(entry, asked, nullptr);
  if (answer.said == Said::queued) co_return;
  if (answer.said != Said::yes) co_return tell_look(entry);
  courier_.tell(
      [entry, answer](Hints& hints) { hints.granted(entry->name, entry->claim, answer); });
}

// ── the end of an ask that was not granted ───────────────────────────────────────────────────────

// Returns `answer` only if nothing of the claim is left in the store, otherwise `unknown`.
Later<Answer> EtcdStore::leave(EntryPtr entry, Answer answer, BootTime deadline) {
  Answer out = co_await take_out(entry, false, deadline);
  const bool is_out = out.said == Said::yes || out.said == Said::gone;
  if (!is_out) out.said = Said::unknown;
  co_return is_out ? std::move(answer) : std::move(out);
}

Answer EtcdStore::failed(const EntryPtr& entry, const Reply& reply) {
  const bool left_no_trace = entry->created == 0 && !entry->doubtful;
  if (left_no_trace) forget(*entry);
  Answer answer;
  answer.said = left_no_trace ? Said::no : Said::unknown;
  answer.problem = reply.problem;
  if (reply.done())
    answer.problem = {Errc::unavailable, "too_slow",
                      "the line changed faster than it could be read"};
  return answer;
}

}  // namespace holdfast::stores::etcd
