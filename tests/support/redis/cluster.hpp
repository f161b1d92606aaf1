// tests/support/redis/cluster.hpp: six nodes: three masters with a third of the slots each, and a
// replica of each.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "support/redis/server.hpp"

namespace holdfast::support {

class RedisCluster {
 public:
  // node_timeout: how long a master may be silent before its replica takes over.
  explicit RedisCluster(Millis node_timeout = Millis(1000), const RedisOptions& options = {});

  std::string url() const;      // redis+cluster://…, all nodes
  std::string tls_url() const;  // the same with tls=on, if the nodes have certificates
  std::vector<std::unique_ptr<RedisServer>>& nodes() noexcept { return nodes_; }

  int slot_of(const std::string& key);
  RedisServer& master_of(int slot);
  RedisServer& replica_of(const RedisServer& master);
  RedisServer& other_master(const RedisServer& than);

  // All running nodes see the same owners of all slots, and the same replicas of those. The owners
  // run, and their replicas have their data.
  bool agreed();

  // During a move, two nodes have the slot: the old one answers ASK for keys that it has moved.
  void start_move(int slot, RedisServer& to);
  void move_keys(int slot, RedisServer& to);
  void finish_move(int slot, RedisServer& to);
  void move(int slot, RedisServer& to);

  RedisServer& failover(RedisServer& master);  // ordered, with all alive; returns the new master
  RedisServer& master_instead_of(const RedisServer& old, int slot);  // after the old one died
  void set_node_timeout(Millis timeout);
  void clear();    // empties it; throws if it has changed since the start
  void restart();  // all nodes

 private:
  struct Range {
    int first, last;  // slots
    int master;       // ports
    std::set<int> replicas;
    bool operator==(const Range&) const = default;
  };

  void meet();
  void introduce();
  void await_agreement();
  std::string id_of(RedisServer& node);
  RedisServer& node_at(int port);
  RedisServer& any_running();
  std::vector<Range> ranges_seen_by(RedisServer& node);

  const Millis node_timeout_;
  std::vector<std::unique_ptr<RedisServer>> nodes_;
  std::vector<Range> at_first_;
};

}  // namespace holdfast::support
