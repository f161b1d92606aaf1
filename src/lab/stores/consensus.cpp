#include "lab/stores/consensus.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lab/process.hpp"
#include "lab/stores/member.hpp"

namespace holdfast::lab {
namespace {

using std::chrono::microseconds;

constexpr Millis no_ttl = std::chrono::hours(24 * 300);  // a session's claims end with it

}  // namespace

Consensus::Consensus(Scene& scene)
    : scene_(scene),
      chronicle_(scene.world, scene.plan.locks.size(), false),
      leader_(scene.world, 0),
      isolated_(scene.plan.nodes(), false),
      lines_(scene.plan.locks.size()) {
  traits_.scheme = "consensus";
  traits_.validity = Validity::session;
  traits_.durable = true;
  leader_.set_rate(scene.plan.store.rates[0]);
  for (std::size_t i = 0; i < scene.plan.nodes(); ++i)
    nodes_.push_back(std::make_unique<Node>(scene.world, static_cast<std::int16_t>(i)));
}

std::unique_ptr<Backend> Consensus::connect(Process& process, Hints& hints) {
  return std::make_unique<Member>(*this, process, hints);
}

// ── steps ───────────────────────────────────────────────────────────────────────────────────────

bool Consensus::follows(const Node& node) const noexcept {
  return has_majority() && !isolated_[static_cast<std::size_t>(node.number)];
}

bool Consensus::has_majority() const noexcept {
  std::size_t up = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    up += nodes_[i]->alive() && !nodes_[i]->paused() && !isolated_[i];
  return 2 * up > nodes_.size();
}

// Returns null, or why the session is refused. An unknown session begins. A session that moved on
// to another node is not heard through the one before any more, even if late requests arrive there.
const char* Consensus::hear(const Node& node, const Visit& visit) {
  const auto [at, fresh] = sessions_.try_emplace(
      visit.session.nonce, Session{visit.session, leader_.now_us(), false, node.number, 0});
  Session& session = at->second;
  if (session.ended) return "session_ended";
  if (visit.move < session.move) return "session_moved";
  session.heard_us = leader_.now_us();
  session.node = node.number;
  session.move = visit.move;
  if (!std::exchange(watching_, true)) watch_sessions();
  return nullptr;
}

Answers Consensus::refused(std::size_t count, const char* why) {
  Answer answer;
  answer.said = Said::no;
  answer.problem = {Errc::unavailable, why, ""};
  return Answers(count, answer);
}

template <class Step>
Answer Consensus::step(std::uint16_t name, const char* why, Step&& step) {
  core::Admission& line = lines_[name];
  line.number_above(++revision_);
  core::Notices notices;
  const std::int64_t now_us = leader_.now_us();
  Answer answer = step(line, now_us, notices);
  line.saved();
  chronicle_.compare(name, line, leader_, why);  // as the leader's, because all nodes take the step
  notify(name, notices, now_us);
  return answer;
}

Answer Consensus::ask(const Node& node, const Ask& asked, const core::Party& session) {
  const std::uint16_t name = scene_.lock_named(asked.name);
  chronicle_.arrived("ask", static_cast<std::int16_t>(session.place), name, asked.claim, node);
  return step(name, "dropped", [&](auto& line, std::int64_t now_us, auto& notices) {
    Ask ask = asked;
    ask.ttl = no_ttl;
    Answer answer = line.ask(ask, session, now_us, notices);
    answer.ttl = answer.said == Said::yes ? asked.ttl : Millis(0);
    return answer;
  });
}

Answer Consensus::keep(const Node& node, const Keep& asked, const core::Party& session) {
  const std::uint16_t name = scene_.lock_named(asked.name);
  chronicle_.arrived("check", static_cast<std::int16_t>(session.place), name, asked.claim, node);
  return step(name, "forgotten", [&](auto& line, std::int64_t now_us, auto& notices) {
    Keep keep = asked;
    keep.ttl = no_ttl;
    Answer answer = line.renew(keep, now_us, notices);
    answer.ttl = asked.ttl;
    return answer;
  });
}

Answer Consensus::release(const Node& node, const Drop& drop, const core::Party& session) {
  const std::uint16_t name = scene_.lock_named(drop.name);
  chronicle_.arrived("drop", static_cast<std::int16_t>(session.place), name, drop.claim, node);
  return step(name, "dropped", [&](auto& line, std::int64_t now_us, auto& notices) {
    return line.release(drop, now_us, notices);
  });
}

Answer Consensus::revoke(std::uint16_t name, bool now) {
  return step(name, "revoked", [&](auto& line, std::int64_t now_us, auto& notices) {
    return line.revoke(now, now_us, notices);
  });
}

std::vector<Holder> Consensus::holders(std::uint16_t name) const {
  return lines_[name].describe(scene_.names[name], leader_.now_us());
}

std::vector<Holder> Consensus::list(std::string_view prefix) const {
  std::vector<Holder> all;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (!scene_.names[i].starts_with(prefix)) continue;
    std::ranges::move(holders(static_cast<std::uint16_t>(i)), std::back_inserter(all));
  }
  return all;
}

void Consensus::notify(std::uint16_t name, const core::Notices& notices, std::int64_t store_us) {
  for (const core::Notice& notice : notices) {
    const auto session = sessions_.find(notice.party.nonce);
    if (session == sessions_.end()) continue;
    const auto number = static_cast<std::int16_t>(notice.party.place);
    scene_.network.message(number, session->second.node, [this, number, name, notice, store_us] {
      Process& process = scene_.process(number);
      process.after(Nanos(0), [this, &process, name, notice, store_us] {
        Member::of(process).told(scene_.names[name], notice, store_us);
      });
    });
  }
}

// ── sessions ────────────────────────────────────────────────────────────────────────────────────

// Without a leader no session ends, and the next leader gives each session its full time.
void Consensus::watch_sessions() {
  bool any = false;
  const bool led = has_majority();
  for (auto& [id, session] : sessions_) {
    if (session.ended) continue;
    if (!led) session.heard_us = leader_.now_us();
    if (session.heard_us + microseconds(timeout()).count() <= leader_.now_us())
      end(session, "expired");
    any |= !session.ended;
  }
  watching_ = any;
  if (any) scene_.world.after(timeout() / 10, [this] { watch_sessions(); });
}

void Consensus::end(Session& session, const char* why) {
  session.ended = true;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const auto name = static_cast<std::uint16_t>(i);
    step(name, why, [&](auto& line, std::int64_t now_us, auto& notices) {
      line.died(session.party, now_us);
      return line.renew({}, now_us, notices);  // lets in the next in line
    });
  }
}

// ── faults ──────────────────────────────────────────────────────────────────────────────────────

void Consensus::suffer(const Fault& fault) {
  if (fault.kind == Fault::Kind::revoke) {
    if (has_majority()) revoke(fault.name, fault.flag);
    return;
  }
  if (fault.kind == Fault::Kind::end_session) {
    for (auto& [id, session] : sessions_)
      if (session.party.place == static_cast<std::uint64_t>(fault.process) && !session.ended)
        end(session, "revoked");
    return;
  }
  if (fault.node == nobody) return;
  Node& hit = node(static_cast<std::size_t>(fault.node));
  if (!hit.alive() || hit.paused()) return;
  switch (fault.kind) {
    case Fault::Kind::pause:
      scene_.tell(What::pause, nobody, hit.number);
      hit.pause();
      scene_.world.after(fault.length, [this, &hit] {
        if (!hit.paused()) return;
        scene_.tell(What::resume, nobody, hit.number);
        hit.resume();
      });
      break;
    case Fault::Kind::crash:
      scene_.tell(What::crash, nobody, hit.number);
      hit.die();
      for (auto& [id, session] : sessions_) session.heard_us = leader_.now_us();  // a new leader
      scene_.world.after(fault.length, [this, &hit] {
        if (hit.alive()) return;
        hit.revive();
        scene_.tell(What::restart, nobody, hit.number);
      });
      break;
    case Fault::Kind::isolate: isolate(static_cast<std::size_t>(fault.node), fault.length); break;
    default: break;
  }
}

void Consensus::isolate(std::size_t index, Nanos length) {
  if (isolated_[index]) return;
  isolated_[index] = true;
  scene_.tell(What::cut, nobody, node(index).number);
  scene_.world.after(length, [this, index] {
    if (!isolated_[index]) return;
    isolated_[index] = false;
    scene_.tell(What::heal, nobody, node(index).number);
  });
}

void Consensus::calm() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    isolated_[i] = false;
    if (!nodes_[i]->alive()) nodes_[i]->revive();
    nodes_[i]->resume();
  }
}

}  // namespace holdfast::lab
