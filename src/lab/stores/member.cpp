#include "lab/stores/member.hpp"

#include <algorithm>
#include <utility>

#include "core/teeth.hpp"
#include "lab/gate_step.hpp"

namespace holdfast::lab {

Member::Member(Consensus& store, Process& process, Hints& hints)
    : store_(store),
      process_(process),
      hints_(hints),
      node_(static_cast<std::size_t>(process.number())) {
  begin_session();
}

Member& Member::of(Process& process) { return static_cast<Member&>(process.shop()->backend()); }

BootTime Member::now() const noexcept { return process_.boot(); }

// ── the session ─────────────────────────────────────────────────────────────────────────────────

void Member::begin_session() {
  session_ = {static_cast<std::uint64_t>(process_.number()), store_.fresh_session()};
  proven_ = now();
}

// Reports held claims as gone before the new session can prove itself alive, because that proof
// does not cover them.
void Member::end_session(bool entries_are_gone) {
  begin_session();
  const std::vector<Mine> before = mine_;
  if (entries_are_gone) mine_.clear();
  std::erase_if(mine_, [](const Mine& mine) { return mine.held; });
  for (const Mine& mine : before) {
    if (mine.held) {
      gone(mine);
    } else {  // at most the old session has it in line
      hints_.look(store_.scene().names[mine.name]);
    }
  }
}

void Member::gone(const Mine& mine) {
  const Mine ended = mine;  // the hint may change the list
  hints_.gone(store_.scene().names[ended.name], ended.claim);
}

// Called before every request, because a session that was not proven for its timeout may be over.
void Member::settle_session() {
  const bool over = now() - proven_ >= Nanos(store_.timeout());
  const bool only_waits = std::ranges::none_of(mine_, &Mine::held);
  if (over || (only_waits && core::rare(core::Rare::new_session))) end_session(false);
}

void Member::send(BootTime deadline, std::size_t count, Step step, Desk::Finish finish) {
  const BootTime sent = now();
  Node& node = store_.node(node_);
  process_.desk().send(
      node, deadline, count,
      [store = &store_, &node, visit = Visit{session_, node_}, count,
       step = std::move(step)](Answers& answers) {
        store->agree(node, visit, answers, count, [&](Answers& all) { step(node, all); });
      },
      [this, sent, session = session_.nonce,
       finish = std::move(finish)](std::span<Answer> answers) {
        answered(session, sent, answers);
        finish(answers);
      });
}

void Member::answered(SessionId session, BootTime sent, std::span<Answer> answers) {
  const Answer& first = answers[0];
  const bool unheard = first.said == Said::unknown || first.problem.reason == "refused";
  if (unheard) ++node_;  // try another
  if (session != session_.nonce) return;
  if (Consensus::says_session_ended(first)) return end_session(true);
  if (unheard || first.problem.reason == "session_moved") return;
  proven_ = std::max(proven_, sent);
  hints_.alive(sent, store_.timeout());
}

void Member::sync_later() {
  if (std::exchange(syncing_, true)) return;
  process_.at_boot(now() + Nanos(store_.timeout()) / 6, [this] {
    syncing_ = false;
    if (!mine_.empty()) sync();
  });
}

// Proves the session alive, and checks that its held claims are still there.
void Member::sync() {
  settle_session();
  std::vector<Keep> keeps;
  for (const Mine& mine : mine_)
    if (mine.held)
      keeps.push_back({store_.scene().names[mine.name], mine.claim, mine.weight, mine.ttl});
  const auto step = [store = &store_, session = session_, keeps](const Node& node, Answers& all) {
    for (const Keep& keep : keeps) all.push_back(store->keep(node, keep, session));
    if (keeps.empty()) all.emplace_back().said = Said::yes;
  };
  sync_later();
  const BootTime deadline = now() + Nanos(store_.timeout()) / 4;
  send(deadline, std::max<std::size_t>(keeps.size(), 1), step,
       [this, keeps](std::span<Answer> answers) {
         for (std::size_t i = 0; i < keeps.size(); ++i) {
           const Mine* mine = find(keeps[i].claim);
           if (answers[i].said == Said::gone && mine && mine->held) {
             const Mine ended = *mine;
             std::erase_if(mine_, [&](const Mine& one) { return one.claim == ended.claim; });
             gone(ended);
           }
         }
       });
}

Member::Mine* Member::find(const ClaimId& claim) noexcept {
  const auto at = std::ranges::find(mine_, claim, &Mine::claim);
  return at == mine_.end() ? nullptr : &*at;
}

// ── calls ───────────────────────────────────────────────────────────────────────────────────────

void Member::ask(const Ask& asked, Pending<Answer>& call) noexcept {
  settle_session();
  const std::uint16_t name = store_.scene().lock_named(asked.name);
  if (!find(asked.claim)) mine_.push_back({name, asked.claim, asked.weight, asked.ttl, false});
  sync_later();
  Ask ask = asked;
  ask.name = store_.scene().names[name];
  const auto& waiting = process_.shop()->gate(name).waiting;
  const std::uint64_t op = waiting.empty() ? 0 : waiting.front();
  send(
      call.deadline, 1,
      [store = &store_, ask, session = session_, about = about_of(op, ask.fair)](const Node& node,
                                                                                 Answers& all) {
        Ask lasting = ask;
        lasting.about = about;
        all.push_back(store->ask(node, lasting, session));
      },
      [this, &call, claim = ask.claim, session = session_.nonce](std::span<Answer> answers) {
        Answer answer = std::move(answers[0]);
        Mine* mine = find(claim);
        // A grant in a session that this process has since given up is worth nothing.
        if (answer.said == Said::yes && (!mine || session != session_.nonce)) {
          answer.said = Said::unknown;
          answer.problem = {Errc::unavailable, "session_ended", ""};
        }
        if (mine && answer.said == Said::yes) mine->held = true;
        if (mine && answer.said != Said::yes && answer.said != Said::queued &&
            answer.said != Said::unknown)
          std::erase_if(mine_, [&](const Mine& one) { return one.claim == claim; });
        call.done(std::move(answer));
      });
}

void Member::renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept {
  settle_session();
  std::vector<Keep> lasting(keeps.begin(), keeps.end());
  for (Keep& keep : lasting) keep.name = store_.scene().names[store_.scene().lock_named(keep.name)];
  send(
      call.deadline, lasting.size(),
      [store = &store_, session = session_, lasting](const Node& node, Answers& all) {
        for (const Keep& keep : lasting) all.push_back(store->keep(node, keep, session));
      },
      [this, &call, lasting](std::span<Answer> answers) {
        for (std::size_t i = 0; i < lasting.size(); ++i)
          if (Mine* mine = find(lasting[i].claim); mine && answers[i].said == Said::yes)
            mine->held = true;
        call.done(answers);
      });
}

void Member::release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept {
  settle_session();
  std::vector<Drop> lasting(drops.begin(), drops.end());
  for (Drop& drop : lasting) {
    drop.name = store_.scene().names[store_.scene().lock_named(drop.name)];
    std::erase_if(mine_, [&](const Mine& one) { return one.claim == drop.claim; });
  }
  send(
      call.deadline, lasting.size(),
      [store = &store_, session = session_, lasting](const Node& node, Answers& all) {
        for (const Drop& drop : lasting) all.push_back(store->release(node, drop, session));
      },
      [&call](std::span<Answer> answers) { call.done(answers); });
}

void Member::revoke(std::string_view name, bool at_once, Pending<Answer>& call) noexcept {
  send(
      call.deadline, 1,
      [store = &store_, lock = store_.scene().lock_named(name), at_once](
          const Node&, Answers& all) { all.push_back(store->revoke(lock, at_once)); },
      [&call](std::span<Answer> answers) { call.done(std::move(answers[0])); });
}

void Member::describe(std::string_view name, Pending<Listing>& call) noexcept {
  Listing listing;
  listing.holders = store_.holders(store_.scene().lock_named(name));
  call.done(std::move(listing));
}

void Member::list(std::string_view prefix, Pending<Listing>& call) noexcept {
  Listing listing;
  listing.holders = store_.list(prefix);
  call.done(std::move(listing));
}

void Member::init(Init, Pending<Answer>& call) noexcept {
  Answer answer;
  answer.said = Said::yes;
  call.done(std::move(answer));
}

void Member::told(std::string_view name, const core::Notice& notice, std::int64_t store_us) {
  Mine* mine = notice.party == session_ ? find(notice.claim) : nullptr;
  if (!mine) return;
  if (notice.what == core::Notice::What::gone) {
    const Mine ended = *mine;
    std::erase_if(mine_, [&](const Mine& one) { return one.claim == ended.claim; });
    return gone(ended);
  }
  mine->held = true;
  Answer answer;
  answer.said = Said::yes;
  answer.number = notice.number;
  answer.ttl = mine->ttl;
  answer.store_us = store_us;
  hints_.granted(name, notice.claim, answer);
}

}  // namespace holdfast::lab
