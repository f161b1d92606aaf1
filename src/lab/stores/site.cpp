#include "lab/stores/site.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/teeth.hpp"
#include "lab/process.hpp"
#include "lab/stores/remote.hpp"
#include "lab/stores/server.hpp"

namespace holdfast::lab {

using core::mutated;
using core::Mutation;
using std::chrono::microseconds;

Site::Site(Scene& scene)
    : scene_(scene),
      chance_(scene.world.chance.fork()),
      chronicle_(scene.world, scene.plan.locks.size(), true) {
  traits_.scheme = "site";
  traits_.notifies = scene.plan.store.notifies;
  traits_.ordered = scene.plan.seed % 3 == 0;  // untrue on purpose: the network keeps no order
  traits_.cells = true;
  for (std::size_t i = 0; i < scene.plan.nodes(); ++i) {
    auto& node =
        servers_.emplace_back(std::make_unique<Server>(scene.world, static_cast<std::int16_t>(i)));
    node->set_rate(scene.plan.store.rates[i]);
    node->known.lines.resize(scene.plan.locks.size());
    node->durable = node->known;
    node->watched.resize(node->known.lines.size());
  }
}

Site::~Site() = default;

std::unique_ptr<Backend> Site::connect(Process& process, Hints&) {
  return std::make_unique<Remote>(*this, process);
}

Site::Server& Site::server(const Node& node) noexcept {
  return *servers_[static_cast<std::size_t>(node.number)];
}

Node& Site::serving(std::uint16_t name) noexcept {
  if (scene_.plan.store.shape == Shape::sharded) return *servers_[name % servers_.size()];
  return *servers_[master_];
}

// ── steps ───────────────────────────────────────────────────────────────────────────────────────

// Numbers are at least the current time, so that a server that lost its memory does not go back.
std::uint64_t Site::least_number(const Server& server) const noexcept {
  if (mutated(Mutation::number_reset)) return 0;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<microseconds>(server.world().now() + server.wall_ahead()).count());
}

// The answer of a replica, even of one that was the master a moment ago.
Answer Site::read_only() {
  Answer answer;
  answer.said = Said::no;
  answer.problem = {Errc::unavailable, "read_only", ""};
  return answer;
}

template <class Step>
Answer Site::step(Node& node, std::uint16_t name, const char* why, Step&& step) {
  Server& at = server(node);
  if (&at != &serving(name)) return read_only();
  core::Admission& line = at.known.lines[name];
  line.number_above(least_number(at));
  core::Notices notices;
  const std::int64_t now_us = at.now_us();
  Answer answer = step(line, now_us, notices);
  line.saved();
  chronicle_.compare(name, line, at, why);
  notify(at, name, notices, now_us);
  if (replicated()) replicate(at, [name, line](Knowledge& known) { known.lines[name] = line; });
  keep_snapshot(at);
  watch(at, name);
  return answer;
}

Answer Site::ask(Node& node, const Ask& ask, const core::Party& party) {
  const std::uint16_t name = scene_.lock_named(ask.name);
  chronicle_.arrived("ask", static_cast<std::int16_t>(party.place), name, ask.claim, node);
  return step(node, name, "dropped", [&](auto& line, std::int64_t now_us, auto& notices) {
    return line.ask(ask, party, now_us, notices);
  });
}

// The claim that a request means; without an owner check, any holder's.
ClaimId Site::meant(const core::Admission& line, const ClaimId& claim, bool unchecked) {
  if (!unchecked) return claim;
  const core::Admission::Entry* holder = nullptr;
  for (const auto& entry : line.entries()) {
    if (entry.claim == claim) return claim;
    if (entry.standing == core::Admission::Standing::held && !holder) holder = &entry;
  }
  return holder ? holder->claim : claim;
}

Answer Site::renew(Node& node, Keep keep, std::int16_t process) {
  const std::uint16_t name = scene_.lock_named(keep.name);
  chronicle_.arrived("renew", process, name, keep.claim, node);
  return step(node, name, "forgotten", [&](auto& line, std::int64_t now_us, auto& notices) {
    keep.claim = meant(line, keep.claim, mutated(Mutation::renew_any));
    Answer answer = line.renew(keep, now_us, notices);
    if (answer.said != Said::gone || !mutated(Mutation::renew_creates)) return answer;
    Ask ask;
    ask.claim = keep.claim;
    ask.kind = line.head().kind;
    ask.capacity = line.head().capacity;
    ask.weight = keep.weight;
    ask.ttl = keep.ttl;
    ask.fair = false;
    const auto place = static_cast<std::uint64_t>(process);
    return line.ask(ask, {place, scene_.process(process).life()}, now_us, notices);
  });
}

Answer Site::release(Node& node, Drop drop, std::int16_t process) {
  const std::uint16_t name = scene_.lock_named(drop.name);
  chronicle_.arrived("drop", process, name, drop.claim, node);
  return step(node, name, "dropped", [&](auto& line, std::int64_t now_us, auto& notices) {
    drop.claim = meant(line, drop.claim, mutated(Mutation::release_any));
    return line.release(drop, now_us, notices);
  });
}

Answer Site::revoke(Node& node, std::uint16_t name, bool now) {
  return step(node, name, "revoked", [&](auto& line, std::int64_t now_us, auto& notices) {
    return line.revoke(now, now_us, notices);
  });
}

Answer Site::mint(Node& node, std::uint16_t name) {
  core::Admission& line = server(node).known.lines[name];
  line.number_above(line.head().number + 1);
  Answer answer;
  answer.said = Said::yes;
  answer.number = line.head().number;
  return answer;
}

std::vector<Holder> Site::holders(std::uint16_t name) {
  const Server& at = server(serving(name));
  return at.known.lines[name].describe(scene_.names[name], at.now_us());
}

std::vector<Holder> Site::list(std::string_view prefix) {
  std::vector<Holder> all;
  for (std::size_t i = 0; i < scene_.names.size(); ++i) {
    if (!scene_.names[i].starts_with(prefix)) continue;
    std::ranges::move(holders(static_cast<std::uint16_t>(i)), std::back_inserter(all));
  }
  return all;
}

Cell Site::change(Node& node, std::string_view name, const CellStep& step) {
  Server& at = server(node);
  Knowledge& known = at.known;
  const std::int64_t now_us = at.now_us();
  const auto found = known.cells.find(name);
  std::optional<stores::CellState> state;
  if (found != known.cells.end() && !found->second.expired(now_us)) state = found->second;
  Cell cell = step(state, now_us, ++known.last_version);
  if (state) {
    known.last_version = std::max(known.last_version, state->version);
    known.cells.insert_or_assign(std::string(name), *state);
  } else if (found != known.cells.end()) {
    known.cells.erase(found);
  }
  if (replicated())
    replicate(at, [cells = known.cells, version = known.last_version](Knowledge& other) {
      other.cells = cells;
      other.last_version = version;
    });
  keep_snapshot(at);
  return cell;
}

void Site::notify(Server& server, std::uint16_t name, const core::Notices& notices,
                  std::int64_t store_us) {
  if (!traits_.notifies) return;
  for (const core::Notice& notice : notices) {
    const auto number = static_cast<std::int16_t>(notice.party.place);
    scene_.network.message(number, server.number, [this, number, name, notice, store_us] {
      Process& process = scene_.process(number);
      if (!process.alive() || process.life() != notice.party.nonce) return;
      process.after(Nanos(0), [this, &process, name, notice, store_us] {
        if (notice.what == core::Notice::What::gone)
          return process.hints()->gone(scene_.names[name], notice.claim);
        Answer answer;
        answer.said = Said::yes;
        answer.number = notice.number;
        answer.ttl = notice.ttl;
        answer.store_us = store_us;
        process.hints()->granted(scene_.names[name], notice.claim, answer);
      });
    });
  }
}

}  // namespace holdfast::lab
