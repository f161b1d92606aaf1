// A Cluster: every name belongs to one of 16384 slots, and every slot to a master.
//
// Any node can report this map. The router asks for it at first, and again in the background
// whenever a node reports a change or disconnects. It follows MOVED and ASK at once.
#include <algorithm>
#include <bitset>
#include <new>

#include "stores/redis/keys.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/router.hpp"
#include "stores/redis/slots.hpp"
#include "stores/redis/trouble.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr Millis between_maps{250};  // least pause after a map
constexpr Millis touch_within{5000};
constexpr std::uint16_t nobody = 0xffff;

class Cluster final : public Router {
 public:
  explicit Cluster(const Routing& routing) : Router(routing), owners_(slots, nobody) {
    for (const net::Place& place : routing.options.places)
      if (Member* const member = node_at(place)) member->in_url = true;
  }

  void send(TaskPtr&& task, BootTime now) override;
  void each(const std::function<TaskPtr()>& make, BootTime now) override;
  const net::Place* messages() noexcept override;

  bool redirected(TaskPtr& task, Link& from, const Reply& error, BootTime now) override;
  void opened(Link& link, BootTime now) noexcept override;
  void broke(Link& link, BootTime now) noexcept override;

  void tick(BootTime now) override {
    Router::tick(now);
    if (map_wanted_ && !mapping_ && map_at_ <= now) ask_for_map(now);
  }
  BootTime next() const noexcept override {
    return std::min(Router::next(), map_wanted_ && !mapping_ ? map_at_ : BootTime::max());
  }

 private:
  class MapTask;
  class Touch;

  struct Member {
    Member(const net::Place& place, const Routing& routing) : node(place, routing) {}
    Node node;
    bool can_tell() const noexcept { return in_url || named; }  // the map
    std::string run_id;
    bool in_url = false;
    bool named = false;   // by the last map, or by a node since
    bool master = false;  // has slots
  };

  Member* known_at(const net::Place& place) noexcept;
  Member* node_at(const net::Place& place);  // null: too many nodes
  void forget_unnamed() noexcept;
  Member* member_of(const Link& link) noexcept;
  std::uint16_t index_of(const Member& member) const noexcept;
  void want_map() noexcept;
  void ask_for_map(BootTime now);
  void told(const Reply& reply, const net::Place& by, BootTime now);
  void failed(const Problem& problem, bool definite, BootTime now) noexcept;
  void set_owner(std::uint16_t slot, std::uint16_t owner, BootTime now);
  void touch(std::uint16_t slot, BootTime now) noexcept;

  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::uint16_t> owners_;  // for each slot: an index into members_
  std::bitset<slots> used_;            // with the guard: slots that this store used
  bool known_ = false;                 // a map was read
  bool map_wanted_ = false;
  bool mapping_ = false;
  BootTime map_at_{};
  std::size_t turn_ = 0;      // the member to ask for the map
  std::size_t failures_ = 0;  // in a row
  std::size_t denials_ = 0;   // how many of them were error replies
  std::size_t listens_ = 0;   // the member whose messages we read
};

class Cluster::MapTask final : public Task {
 public:
  MapTask(Cluster& of, const net::Place& asked, BootTime now) : of_(of), asked_(asked) {
    deadline = now + answer_within;
    unattended = true;
  }
  void write(std::string& out, const Link&) override {
    Request(out, 2) << "CLUSTER"
                    << "SLOTS";
  }
  void read(const Reply& reply) override { of_.told(reply, asked_, BootClock::now()); }
  void refuse(Said, const Problem& problem) noexcept override {
    of_.failed(problem, via != nullptr && problem.reason == "server_error", BootClock::now());
  }
  void deliver(TaskPtr) noexcept override {}

 private:
  Cluster& of_;
  const net::Place& asked_;
};

// Checks the guard's marker, so that a quarantine begins now and not with the next ask.
class Cluster::Touch final : public Task {
 public:
  Touch(const Setting& setting, std::uint16_t of, BootTime now) : setting_(setting) {
    slot = of;
    deadline = now + touch_within;
    unattended = true;
  }
  void write(std::string& out, const Link& link) override {
    write_mark(out, marker_key(slot), setting_, link.server().run_id, Marking::touch, by_text);
  }
  void read(const Reply&) override {}
  void refuse(Said, const Problem&) noexcept override {}
  void deliver(TaskPtr) noexcept override {}

 private:
  const Setting& setting_;
};

// ── commands ─────────────────────────────────────────────────────────────────────────────────────

void Cluster::send(TaskPtr&& task, BootTime now) {
  task->patient = true;
  task->asking = false;
  if (task->bound) return routing_.exchange.submit(*task->bound, std::move(task), now);
  if (routing_.options.setting.guard) used_.set(task->slot);
  const std::uint16_t owner = owners_[task->slot];
  if (owner != nobody) return members_[owner]->node.send(std::move(task), now);
  rest(std::move(task), until_woken,
       {Errc::unavailable, "cluster_down",
        known_ ? "no node of the Cluster has the slot of this name"
               : "no node of the Cluster has told yet which of them has this name"});
  want_map();
}

void Cluster::each(const std::function<TaskPtr()>& make, BootTime now) {
  if (!known_) {
    TaskPtr first = make();
    rest(std::move(first), until_woken,
         {Errc::unavailable, "cluster_down",
          "no node of the Cluster has told yet who belongs to it"},
         make);
    return want_map();
  }
  for (const auto& member : members_) {
    if (!member->master) continue;
    TaskPtr task = make();
    task->bound = &member->node.commands();
    send(std::move(task), now);
  }
}

// Prefers masters that are connected; among equals, the current one comes last.
const net::Place* Cluster::messages() noexcept {
  if (!known_) return nullptr;
  for (const bool picky : {true, false}) {
    for (std::size_t i = 1; i <= members_.size(); ++i) {
      const std::size_t at = (listens_ + i) % members_.size();
      const Member& member = *members_[at];
      if (!member.master || (picky && !member.node.ready())) continue;
      listens_ = at;
      return &member.node.place();
    }
  }
  return nullptr;
}

bool Cluster::redirected(TaskPtr& task, Link& from, const Reply& error, BootTime now) {
  const Refusal refusal = refusal_of(error);
  if (refusal == Refusal::read_only || refusal == Refusal::loading || refusal == Refusal::try_again)
    want_map();
  if (refusal == Refusal::read_only) {
    rest(std::move(task), now + a_while(Millis(20), Millis(100)), problem_of(error));
    return true;
  }
  if (refusal != Refusal::moved && refusal != Refusal::ask)
    return Router::redirected(task, from, error, now);

  Elsewhere there;
  if (!elsewhere_of(error, there) || there.slot >= slots || there.port == 0) return false;
  if (followed_too_often(task, error)) return true;
  Member* const member =
      node_at({.host = there.host.empty() ? from.place().host : there.host, .port = there.port});
  if (!member) return false;
  if (refusal == Refusal::moved) {
    set_owner(there.slot, index_of(*member), now);
    want_map();
    send(std::move(task), now);
  } else {
    task->asking = true;
    member->node.send(std::move(task), now);
  }
  return true;
}

void Cluster::broke(Link& link, BootTime now) noexcept {
  if (!member_of(link)) return;
  want_map();
  TaskQueue unsent;
  link.redirect_waiting(unsent);
  while (TaskPtr task = unsent.pop())
    rest(std::move(task), now + a_while(Millis(20), Millis(100)), link.problem());
}

// ── nodes and slots ──────────────────────────────────────────────────────────────────────────────

Cluster::Member* Cluster::known_at(const net::Place& place) noexcept {
  for (const auto& member : members_)
    if (member->node.place() == place) return member.get();
  return nullptr;
}

// Nodes may change their addresses again and again. Closes idle members that are no longer named;
// node_at() reuses them for new addresses.
void Cluster::forget_unnamed() noexcept {
  for (const auto& member : members_)
    if (!member->can_tell() && member->node.idle())
      member->node.close({Errc::unavailable, "disconnected", "not a node of the Cluster any more"});
}

Cluster::Member* Cluster::node_at(const net::Place& place) {
  Member* const known = known_at(place);
  if (known) {
    known->named = true;
    return known;
  }
  for (const auto& member : members_) {
    if (member->can_tell() || member->master || !member->node.move_to(place)) continue;
    member->run_id.clear();
    member->named = true;
    return member.get();
  }
  if (members_.size() >= most_nodes) return nullptr;
  members_.reserve(members_.size() + 1);  // the exchange keeps a pointer to its links
  members_.push_back(std::make_unique<Member>(place, routing_));
  members_.back()->named = true;
  return members_.back().get();
}

Cluster::Member* Cluster::member_of(const Link& link) noexcept {
  for (const auto& member : members_)
    if (member->node.has(link)) return member.get();
  return nullptr;
}

std::uint16_t Cluster::index_of(const Member& member) const noexcept {
  const auto at = std::ranges::find(members_, &member, [](auto& each) { return each.get(); });
  return static_cast<std::uint16_t>(at - members_.begin());
}

void Cluster::want_map() noexcept {
  if (!std::exchange(map_wanted_, true)) routing_.exchange.changed();
}

// Prefers a node that is connected.
void Cluster::ask_for_map(BootTime now) {
  const auto next = [&](bool picky) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::size_t at = (turn_ + i) % members_.size();
      if (members_[at]->can_tell() && (!picky || members_[at]->node.ready())) return at;
    }
    return members_.size();
  };
  turn_ = next(true);
  if (turn_ == members_.size()) turn_ = next(false);
  Node& node = members_[turn_]->node;
  ask(mapping_, node.commands(), std::make_unique<MapTask>(*this, node.place(), now), now);
}

void Cluster::failed(const Problem& problem, bool definite, BootTime now) noexcept {
  mapping_ = false;
  turn_ = (turn_ + 1) % members_.size();
  denials_ += definite;
  map_at_ = now;
  routing_.exchange.changed();
  const auto asked = std::ranges::count_if(members_, [](auto& each) { return each->can_tell(); });
  if (++failures_ < static_cast<std::size_t>(asked)) return;
  map_at_ = now + a_while(Millis(50), Millis(150));
  if (denials_ == failures_) {
    refuse_resting({Errc::invalid, "not_a_cluster", problem.text});
  } else {
    tell_resting(
        {Errc::unavailable, "cluster_down",
         "no node of the Cluster tells who has which names; the last said: " + problem.text});
  }
  failures_ = denials_ = 0;
}

void Cluster::told(const Reply& reply, const net::Place& by, BootTime now) {
  std::vector<SlotRange> ranges;
  if (!read_slots(reply, by, ranges))
    return failed({Errc::unavailable, "protocol", "it knows of no slots"}, false, now);
  std::vector<std::uint16_t> owners(slots, nobody);
  for (const auto& member : members_) member->named = false;
  for (const SlotRange& range : ranges)
    if (Member* const known = known_at(range.master)) known->named = true;
  for (const SlotRange& range : ranges) {
    Member* const member = node_at(range.master);
    if (!member) continue;
    std::fill(owners.begin() + range.first, owners.begin() + range.last + 1, index_of(*member));
  }
  for (const auto& member : members_) member->master = false;
  for (const std::uint16_t owner : owners)
    if (owner != nobody) members_[owner]->master = true;
  forget_unnamed();
  // A server that left the Cluster no longer receives what is published in it.
  if (!members_[listens_]->named) routing_.listener.moved();
  mapping_ = map_wanted_ = false;
  failures_ = denials_ = 0;
  map_at_ = now + between_maps;
  known_ = true;
  for (std::uint16_t slot = 0; slot < slots; ++slot) set_owner(slot, owners[slot], now);
  wake(now);
}

void Cluster::set_owner(std::uint16_t slot, std::uint16_t owner, BootTime now) {
  const std::uint16_t before = std::exchange(owners_[slot], owner);
  if (owner == nobody || owner == before) return;
  members_[owner]->master = true;
  if (before != nobody) touch(slot, now);
}

// ── the guard ────────────────────────────────────────────────────────────────────────────────────
// A node that took over a slot, or came back, may have forgotten locks. Touching its used slots at
// once lets their quarantines begin together, and not one by one at the next use of each name.

void Cluster::opened(Link& link, BootTime now) noexcept try {
  Member* const member = member_of(link);
  if (!member || !routing_.options.setting.guard || member->run_id == link.server().run_id) return;
  const bool first = member->run_id.empty();
  member->run_id = link.server().run_id;
  if (first) return;
  const std::uint16_t owner = index_of(*member);
  for (std::uint16_t slot = 0; slot < slots; ++slot)
    if (owners_[slot] == owner) touch(slot, now);
} catch (const std::bad_alloc&) {
  // The next command there touches the marker as well.
}

void Cluster::touch(std::uint16_t slot, BootTime now) noexcept try {
  if (!used_.test(slot)) return;
  send(std::make_unique<Touch>(routing_.options.setting, slot, now), now);
} catch (const std::bad_alloc&) {
}

}  // namespace

std::unique_ptr<Router> make_cluster(const Routing& routing) {
  return std::make_unique<Cluster>(routing);
}

}  // namespace holdfast::stores::redis
