#include "support/zookeeper/ensemble.hpp"

#include <set>
#include <stdexcept>

#include "support/port_taken.hpp"

namespace holdfast::support {
namespace {

constexpr std::size_t size = 3;

std::string loopback(int port) { return "127.0.0.1:" + std::to_string(port); }

// "leader" if it has followers; "follower"; else empty.
std::string role_of(const ZooKeeperServer& node) try {
  if (!node.running() || !node.serves()) return {};
  const auto state = node.monitor("server_state");
  return state != "leader" || node.count("synced_followers") > 0 ? state : "";
} catch (const std::exception&) {
  return {};  // A server that changes its state closes its connections.
}

}  // namespace

ZooKeeperEnsemble::ZooKeeperEnsemble(const ZooKeeperOptions& options, Links links) {
  on_free_ports([&] { start(options, links); });
}

void ZooKeeperEnsemble::start(const ZooKeeperOptions& options, Links links) {
  nodes_.clear();
  links_.clear();
  std::vector<Ports> ports;
  for (std::size_t node = 0; node < size; ++node)
    ports.push_back({free_port(), free_port(), free_port()});
  if (links == Links::proxied) link(ports);
  for (std::size_t node = 0; node < size; ++node) {
    auto own = options;
    own.seat = ZooKeeperSeat{static_cast<int>(node + 1), ports[node].clients,
                             servers_seen_by(node, ports)};
    nodes_.push_back(std::make_unique<ZooKeeperServer>(own));
  }
  await_agreement();
}

void ZooKeeperEnsemble::link(const std::vector<Ports>& ports) {
  for (std::size_t from = 0; from < size; ++from)
    for (std::size_t to = 0; to < size; ++to)
      if (from != to)
        links_[{from, to}] = std::make_unique<Link>(ports[to].quorum, ports[to].election);
  // For votes, a lesser server calls a greater one, which calls back at the address it was told.
  for (const auto& [ends, link] : links_)
    link->election.rewrite(loopback(ports[ends.first].election),
                           links_.at({ends.second, ends.first})->election.address());
}

std::vector<std::string> ZooKeeperEnsemble::servers_seen_by(std::size_t node,
                                                            const std::vector<Ports>& ports) const {
  std::vector<std::string> lines;
  for (std::size_t to = 0; to < size; ++to) {
    auto [clients, quorum, election] = ports[to];
    if (const auto link = links_.find({node, to}); link != links_.end()) {
      quorum = link->second->quorum.port();
      election = link->second->election.port();
    }
    lines.push_back("server." + std::to_string(to + 1) + '=' + loopback(quorum) + ':' +
                    std::to_string(election) + ';' + loopback(clients));
  }
  return lines;
}

std::string ZooKeeperEnsemble::url() const {
  std::string hosts;
  for (const auto& node : nodes_) hosts += (hosts.empty() ? "" : ",") + node->address();
  return "zookeeper://" + hosts;
}

ZooKeeperServer& ZooKeeperEnsemble::any(const std::string& role) {
  ZooKeeperServer* found = nullptr;
  eventually([&] {
    for (const auto& node : nodes_)
      if (role_of(*node) == role) found = node.get();
    return found != nullptr;
  });
  if (found == nullptr) throw std::runtime_error("nobody is a " + role);
  return *found;
}

ZooKeeperServer& ZooKeeperEnsemble::leader() { return any("leader"); }
ZooKeeperServer& ZooKeeperEnsemble::follower() { return any("follower"); }

void ZooKeeperEnsemble::cut(const ZooKeeperServer& node) {
  if (links_.empty()) throw std::logic_error("these links have no proxies");
  for (const auto& [ends, link] : links_) {
    if (nodes_[ends.first].get() != &node && nodes_[ends.second].get() != &node) continue;
    link->quorum.hold();
    link->election.hold();
  }
}

void ZooKeeperEnsemble::heal() {
  for (const auto& [ends, link] : links_) {
    link->quorum.heal();
    link->election.heal();
  }
}

bool ZooKeeperEnsemble::agreed() {
  std::multiset<std::string> roles;
  for (const auto& node : nodes_)
    if (node->running()) roles.insert(role_of(*node));
  return roles.count("leader") == 1 &&
         roles.count("leader") + roles.count("follower") == roles.size();
}

void ZooKeeperEnsemble::await_agreement() {
  if (eventually([&] { return agreed(); })) return;
  for (const auto& node : nodes_) throw_if_port_taken(node->log());
  throw std::runtime_error("the ensemble does not agree: " + nodes_.front()->log());
}

void ZooKeeperEnsemble::restart() {
  for (const auto& node : nodes_) node->kill();
  for (const auto& node : nodes_) node->launch();
  await_agreement();
}

}  // namespace holdfast::support
