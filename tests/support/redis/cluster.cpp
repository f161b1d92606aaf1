#include "support/redis/cluster.hpp"

#include <algorithm>
#include <stdexcept>

namespace holdfast::support {
namespace {

constexpr int slots = 16384;
constexpr int masters = 3;

// A node that was alone waits for its timeout before it trusts the cluster.
constexpr Millis soon{500};

void wait_for(bool reached, const char* what) {
  if (!reached) throw std::runtime_error(std::string("it did not happen: ") + what);
}

bool is_well(RedisServer& node) {
  auto redis = node.client();
  const auto state = redis.command({"CLUSTER", "INFO"}).text;
  return state.find("cluster_state:ok") != std::string::npos &&
         state.find("cluster_slots_ok:" + std::to_string(slots)) != std::string::npos &&
         (redis.info("replication", "role") == "master" ||
          redis.info("replication", "master_link_status") == "up");
}

// A node that changes its role closes its connections.
bool accepts(RedisServer& node, const RedisCommand& command) try {
  return node.client().attempt(command).type == RedisReply::Type::status;
} catch (const std::exception&) {
  return false;
}

bool knows(RedisServer& node, std::size_t many) try {
  const auto known = node.client().command({"CLUSTER", "NODES"}).text;
  return std::ranges::count(known, '\n') == static_cast<std::ptrdiff_t>(many) &&
         known.find("handshake") == std::string::npos;
} catch (const std::exception&) {
  return false;
}

}  // namespace

RedisCluster::RedisCluster(Millis node_timeout, const RedisOptions& options)
    : node_timeout_(node_timeout) {
  auto clustered = options;
  // Servers do not list a replica that its master has not pinged yet.
  clustered.config.insert(clustered.config.end(),
                          {"cluster-enabled yes", "cluster-migration-barrier 10",
                           "repl-diskless-sync-delay 0", "repl-ping-replica-period 1"});
  if (options.tls)
    clustered.config.insert(clustered.config.end(), {"tls-cluster yes", "tls-replication yes"});
  for (int count = 0; count < 2 * masters; ++count)
    nodes_.push_back(std::make_unique<RedisServer>(clustered));
  set_node_timeout(soon);
  meet();
  set_node_timeout(node_timeout_);
}

void RedisCluster::set_node_timeout(Millis timeout) {
  for (const auto& node : nodes_) {
    auto redis = node->client();
    redis.command({"CONFIG", "SET", "cluster-node-timeout", std::to_string(timeout.count())});
    redis.command({"CONFIG", "REWRITE"});
  }
}

// Does what `redis-cli --cluster create` does, but introduces each node to every other one
// directly, so that none has to hear of another from a third.
void RedisCluster::meet() {
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    auto redis = nodes_[at]->client();
    redis.command({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(at + 1)});
    if (at < masters) {
      RedisCommand add = {"CLUSTER", "ADDSLOTS"};
      const auto first = slots * static_cast<int>(at) / masters;
      const auto end = slots * static_cast<int>(at + 1) / masters;
      for (int slot = first; slot < end; ++slot) add.push_back(std::to_string(slot));
      redis.command(add);
    }
  }
  introduce();
  for (std::size_t at = masters; at < nodes_.size(); ++at) {
    const RedisCommand replicate = {"CLUSTER", "REPLICATE", id_of(*nodes_[at - masters])};
    wait_for(eventually([&] { return accepts(*nodes_[at], replicate); }),
             "a node that knows its master");
  }
  await_agreement();
  at_first_ = ranges_seen_by(*nodes_.front());
}

// A node forgets another that has not answered its greeting within a second, as on a busy machine.
// Therefore this introduces them again until all know each other.
void RedisCluster::introduce() {
  const auto acquainted = [&] {
    return std::ranges::all_of(nodes_, [&](auto& node) { return knows(*node, nodes_.size()); });
  };
  const auto greet = [&] {
    for (std::size_t at = 0; at < nodes_.size(); ++at)
      for (std::size_t other = 0; other < at; ++other) {
        const RedisServer& known = *nodes_[other];
        const int port = known.tls_port() != 0 ? known.tls_port() : known.port();
        nodes_[at]->client().command({"CLUSTER", "MEET", "127.0.0.1", std::to_string(port)});
      }
  };
  wait_for(eventually([&] {
             greet();
             return eventually(acquainted, Millis(3'000));
           }),
           "nodes that know each other");
}

std::string RedisCluster::url() const {
  std::string hosts;
  for (const auto& node : nodes_) hosts += (hosts.empty() ? "" : ",") + node->address();
  return "redis+cluster://" + hosts;
}

std::string RedisCluster::tls_url() const {
  std::string hosts;
  for (const auto& node : nodes_)
    hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(node->tls_port()));
  return "redis+cluster://" + hosts + "?tls=on&ca=" + authority().file();
}

std::string RedisCluster::id_of(RedisServer& node) {
  return node.client().command({"CLUSTER", "MYID"}).text;
}

RedisServer& RedisCluster::node_at(int port) {
  for (const auto& node : nodes_)
    if (node->port() == port) return *node;
  throw std::runtime_error("no node of ours has port " + std::to_string(port));
}

std::vector<RedisCluster::Range> RedisCluster::ranges_seen_by(RedisServer& node) {
  std::vector<Range> ranges;
  for (const auto& each : node.client().command({"CLUSTER", "SLOTS"}).items) {
    Range range{static_cast<int>(each[0].integer),
                static_cast<int>(each[1].integer),
                static_cast<int>(each[2][1].integer),
                {}};
    for (std::size_t at = 3; at < each.items.size(); ++at)
      range.replicas.insert(static_cast<int>(each[at][1].integer));
    ranges.push_back(range);
  }
  std::ranges::sort(ranges, {}, &Range::first);
  return ranges;
}

RedisServer& RedisCluster::any_running() {
  const auto found = std::ranges::find_if(nodes_, [](auto& node) { return node->running(); });
  if (found == nodes_.end()) throw std::runtime_error("no node runs");
  return **found;
}

int RedisCluster::slot_of(const std::string& key) {
  return static_cast<int>(any_running().client().command({"CLUSTER", "KEYSLOT", key}).integer);
}

// After a failover a node may hear from the old master, which gives up the slot, before it hears
// from the new one. Until then it knows no owner.
RedisServer& RedisCluster::master_of(int slot) {
  RedisServer* master = nullptr;
  wait_for(eventually([&] {
             for (const auto& range : ranges_seen_by(any_running()))
               if (range.first <= slot && slot <= range.last) master = &node_at(range.master);
             return master != nullptr;
           }),
           ("a master of the slot " + std::to_string(slot)).c_str());
  return *master;
}

RedisServer& RedisCluster::replica_of(const RedisServer& master) {
  for (const auto& range : ranges_seen_by(any_running()))
    if (range.master == master.port() && !range.replicas.empty())
      return node_at(*range.replicas.begin());
  throw std::runtime_error("no node replicates " + master.address());
}

RedisServer& RedisCluster::other_master(const RedisServer& than) {
  for (const auto& range : ranges_seen_by(any_running()))
    if (range.master != than.port()) return node_at(range.master);
  throw std::runtime_error("there is no other master");
}

bool RedisCluster::agreed() try {
  const auto seen = ranges_seen_by(any_running());
  std::set<int> named, running;
  for (const auto& range : seen) {
    named.insert(range.master);
    named.insert(range.replicas.begin(), range.replicas.end());
  }
  for (const auto& node : nodes_) {
    if (!node->running()) continue;
    running.insert(node->port());
    if (!is_well(*node) || ranges_seen_by(*node) != seen) return false;
  }
  return named == running;
} catch (const std::exception&) {
  return false;  // A node that changes its role closes its connections.
}

void RedisCluster::await_agreement() {
  wait_for(eventually([&] { return agreed(); }), "a cluster that agrees");
}

void RedisCluster::start_move(int slot, RedisServer& to) {
  auto& from = master_of(slot);
  const auto text = std::to_string(slot);
  to.client().command({"CLUSTER", "SETSLOT", text, "IMPORTING", id_of(from)});
  from.client().command({"CLUSTER", "SETSLOT", text, "MIGRATING", id_of(to)});
}

void RedisCluster::move_keys(int slot, RedisServer& to) {
  auto redis = master_of(slot).client();
  const auto port = std::to_string(to.port());
  const auto keys = redis.command({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "10000"});
  for (const auto& key : keys.items)
    redis.command({"MIGRATE", "127.0.0.1", port, key.text, "0", "5000"});
}

void RedisCluster::finish_move(int slot, RedisServer& to) {
  const RedisCommand owner = {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id_of(to)};
  auto& from = master_of(slot);
  to.client().command(owner);  // The new owner first, or nobody would own the slot for a moment.
  from.client().command(owner);
  await_agreement();
}

void RedisCluster::move(int slot, RedisServer& to) {
  start_move(slot, to);
  move_keys(slot, to);
  finish_move(slot, to);
}

RedisServer& RedisCluster::failover(RedisServer& master) {
  auto& replica = replica_of(master);
  replica.client().command({"CLUSTER", "FAILOVER"});
  wait_for(eventually([&] {
             return replica.client().info("replication", "role") == "master" && agreed();
           }),
           "a failover");
  return replica;
}

RedisServer& RedisCluster::master_instead_of(const RedisServer& old, int slot) {
  wait_for(eventually([&] { return &master_of(slot) != &old && agreed(); }), "a failover");
  return master_of(slot);
}

void RedisCluster::clear() {
  if (!agreed() || ranges_seen_by(*nodes_.front()) != at_first_)
    throw std::runtime_error("the cluster has changed");
  for (const auto& node : nodes_) {
    auto redis = node->client();
    redis.command({"SCRIPT", "FLUSH"});
    if (redis.info("replication", "role") == "master") redis.command({"FLUSHALL"});
  }
}

void RedisCluster::restart() {
  set_node_timeout(soon);
  for (const auto& node : nodes_) node->kill();
  for (const auto& node : nodes_) node->start();
  await_agreement();
  set_node_timeout(node_timeout_);
}

}  // namespace holdfast::support
