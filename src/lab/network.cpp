#include "lab/network.hpp"

#include <utility>

namespace holdfast::lab {

using std::chrono::microseconds;

Network::Network(World& world, const Plan& plan, bool recorded)
    : world_(world),
      chance_(world.chance.fork()),
      noise_(plan.noise),
      nodes_(plan.nodes()),
      recorded_(recorded),
      lines_(plan.processes() * plan.nodes()) {}

Network::Line& Network::line(std::int16_t process, std::int16_t node) noexcept {
  return lines_[static_cast<std::size_t>(process) * nodes_ + static_cast<std::size_t>(node)];
}

void Network::request(std::int16_t process, std::int16_t node, Action arrives) {
  carry(process, node, Way::there, noise_.lost_requests, std::move(arrives));
}
void Network::reply(std::int16_t process, std::int16_t node, Action arrives) {
  carry(process, node, Way::back, noise_.lost_replies, std::move(arrives));
}
void Network::message(std::int16_t process, std::int16_t node, Action arrives) {
  carry(process, node, Way::back, noise_.lost_messages, std::move(arrives));
}

void Network::carry(std::int16_t process, std::int16_t node, Way way, unsigned loss,
                    Action arrives) {
  const bool lost = chance_.percent(loss);
  const bool late = chance_.percent(noise_.late);
  const Nanos usual = chance_.between(microseconds(50), microseconds(1000));
  const Nanos delay = late ? chance_.between(usual, usual + noise_.latest) : usual;
  tell(What::sent, process, node, way);
  if (lost || line(process, node).cut[static_cast<std::size_t>(way)])
    return tell(What::vanished, process, node, way);
  if (!recorded_) return world_.after(delay, std::move(arrives));
  world_.after(delay, [this, process, node, way, arrives = std::move(arrives)] {
    tell(What::arrived, process, node, way);
    arrives();
  });
}

void Network::tell(What what, std::int16_t process, std::int16_t node, Way way) {
  if (!recorded_) return;
  Event event;
  event.what = what;
  event.process = process;
  event.node = node;
  event.flag = way == Way::back;
  world_.tell(event);
}

void Network::cut(std::int16_t process, std::int16_t node, Way way, bool is_cut) noexcept {
  line(process, node).cut[static_cast<std::size_t>(way)] = is_cut;
}

void Network::calm() noexcept {
  noise_ = {};
  for (Line& one : lines_) one = {};
}

}  // namespace holdfast::lab
