#include "support/etcd/cluster.hpp"

#include <set>
#include <sstream>
#include <stdexcept>

#include "support/port_taken.hpp"

namespace holdfast::support {
namespace {

constexpr std::size_t size = 3;

// The header by which a server identifies itself in every call to its peers.
std::string signature(std::uint64_t member) {
  std::ostringstream text;
  text << "X-Server-From: " << std::hex << member;
  return text.str();
}

}  // namespace

EtcdCluster::EtcdCluster(const EtcdOptions& options, Links links) {
  on_free_ports([&] { start(options, links); });
}

void EtcdCluster::start(const EtcdOptions& options, Links links) {
  nodes_.clear();
  doors_.clear();
  std::vector<EtcdSeat> seats;
  std::string cluster;
  for (std::size_t node = 0; node < size; ++node) {
    const int port = free_port(), peer_port = free_port();
    int door = peer_port;
    if (links == Links::proxied)
      door = doors_.emplace_back(std::make_unique<Proxy>(peer_port))->port();
    seats.push_back({.name = "etcd" + std::to_string(port),
                     .port = port,
                     .peer_port = peer_port,
                     .cluster = {},
                     .peer_url = "http://127.0.0.1:" + std::to_string(door)});
    cluster += (node == 0 ? "" : ",") + seats.back().name + '=' + seats.back().peer_url;
  }
  for (auto& seat : seats) {
    seat.cluster = cluster;
    auto own = options;
    own.seat = seat;
    nodes_.push_back(std::make_unique<EtcdServer>(own));
  }
  await_agreement();
}

std::string EtcdCluster::url() const {
  std::string hosts;
  for (const auto& node : nodes_) hosts += (hosts.empty() ? "" : ",") + node->address();
  return "etcd://" + hosts;
}

EtcdServer& EtcdCluster::any_running() {
  for (const auto& node : nodes_)
    if (node->running()) return *node;
  throw std::runtime_error("none of them runs");
}

EtcdServer& EtcdCluster::leader() {
  EtcdServer* found = nullptr;
  const bool is_there = eventually([&] {
    std::uint64_t newest = 0;
    for (const auto& node : nodes_) try {
        if (!node->running()) continue;
        const auto status = node->status();
        if (status.leader != status.member || status.term <= newest) continue;
        newest = status.term;
        found = node.get();
      } catch (const std::exception&) {
        continue;  // It has only just started.
      }
    return found != nullptr;
  });
  if (!is_there) throw std::runtime_error("nobody leads");
  return *found;
}

EtcdServer& EtcdCluster::follower() {
  const auto all = followers();
  if (all.empty()) throw std::runtime_error("nobody follows");
  return *all.front();
}

std::vector<EtcdServer*> EtcdCluster::followers() {
  const auto& first = leader();
  std::vector<EtcdServer*> all;
  for (const auto& node : nodes_)
    if (node->running() && node.get() != &first) all.push_back(node.get());
  return all;
}

void EtcdCluster::need_doors() const {
  if (doors_.empty()) throw std::logic_error("these links have no proxies");
}

void EtcdCluster::delay(Millis each) {
  need_doors();
  for (const auto& door : doors_) door->delay(each);
}

void EtcdCluster::hold_from(const std::string& text) {
  need_doors();
  for (const auto& door : doors_) door->hold_from(text);
}

// Holds calls to the node and from it, because a node also sends messages in its answers.
void EtcdCluster::cut(const EtcdServer& node) {
  need_doors();
  const auto own = signature(node.status().member);
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    if (nodes_[at].get() == &node)
      doors_[at]->hold();
    else
      doors_[at]->hold_those(own);
  }
}

void EtcdCluster::heal() {
  for (const auto& door : doors_) door->heal();
}

bool EtcdCluster::agreed() try {
  std::set<std::uint64_t> leaders;
  for (const auto& node : nodes_) {
    if (!node->running()) continue;
    if (!node->serves()) return false;
    leaders.insert(node->status().leader);
  }
  return leaders.size() == 1;
} catch (const std::exception&) {
  return false;
}

void EtcdCluster::await_agreement() {
  if (eventually([&] { return agreed(); })) return;
  for (const auto& node : nodes_) throw_if_port_taken(node->log());
  throw std::runtime_error("the cluster does not agree: " + nodes_.front()->log());
}

void EtcdCluster::restart() {
  for (const auto& node : nodes_) node->kill();
  for (const auto& node : nodes_) node->launch();
  await_agreement();
}

}  // namespace holdfast::support
