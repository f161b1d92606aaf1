#include "lab/exhibits/stage.hpp"

namespace holdfast::lab::exhibits {

Stage::~Stage() = default;

Actor& Stage::actor(std::string name) {
  if (name.empty()) name = std::string(1, static_cast<char>('A' + cast.processes.size()));
  cast.processes.push_back(std::move(name));
  actors_.push_back(std::make_unique<Actor>(*this, number_of(cast.processes)));
  return *actors_.back();
}

void Stage::cut(const Actor& actor, const Node& node) {
  cut_.emplace(actor.number, node.number);
  tell({.what = What::cut, .process = actor.number, .node = node.number});
}

bool Stage::is_cut(const Actor& actor, const Node& node) const {
  return cut_.contains({actor.number, node.number});
}

void Stage::set_way(const Actor& actor, const Node& node, Nanos delay) {
  ways_.push_back({{actor.number, node.number}, delay});
}

Nanos Stage::way_of(const Actor& actor, const Node& node) const {
  for (const auto& [route, delay] : ways_)
    if (route == Route(actor.number, node.number)) return delay;
  return way;
}

// ── nodes ───────────────────────────────────────────────────────────────────────────────────────

void Node::tell(What what, const char* note) {
  stage.tell({.what = what, .node = number, .note = note});
}

void Node::dies(Time when) {
  stage.at(when, [this] {
    machine.die();
    tell(What::crash);
  });
}

void Node::push(Actor& to, const char* words) {
  Event event{.what = What::sent,
              .flag = true,
              .process = to.number,
              .node = number,
              .op = ++stage.calls,
              .note = words};
  stage.tell(event);
  event.what = What::arrived;
  stage.world.after(stage.way_of(to, *this), [this, event, &to] {
    stage.tell(event);
    to.hears();
  });
}

// ── actors ──────────────────────────────────────────────────────────────────────────────────────

void Actor::tell(What what, std::uint64_t token, const char* note) {
  stage.tell({.what = what, .process = number, .op = op_, .token = token, .note = note});
}

void Actor::plays(Time from, Script script) {
  machine.at(from, script.handle());
  scripts_.push_back(std::move(script));
}

void Actor::pauses(Time from, Time to) {
  stage.at(from, [this] {
    machine.pause();
    tell(What::pause);
  });
  stage.at(to, [this] {
    tell(What::resume);
    machine.resume();
  });
}

void Actor::dies(Time when) {
  stage.at(when, [this] {
    machine.die();
    tell(What::crash);
  });
}

Nanos Actor::takes(const Node& node) {
  return std::exchange(slowed_, std::nullopt).value_or(stage.way_of(*this, node));
}

void Actor::begins(Script script) { plays(stage.world.now(), std::move(script)); }

void Actor::asks() {
  op_ = ++stage.calls;
  wants_ = true;
  tell(What::ask);
}

void Actor::enters(std::uint64_t token) {
  holds_ = true;
  tell(What::granted, token);
}

void Actor::leaves() {
  wants_ = false;
  if (std::exchange(holds_, false)) tell(What::release);
}

void Actor::loses(const char* why) {
  wants_ = false;
  if (std::exchange(holds_, false)) tell(What::lost, 0, why);
}

void Actor::hears() {
  machine.at(stage.world.now(), [this] {
    ++unread_;
    if (const auto listener = std::exchange(listener_, {})) listener();
  });
}

}  // namespace holdfast::lab::exhibits
