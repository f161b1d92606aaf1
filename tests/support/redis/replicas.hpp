// tests/support/redis/replicas.hpp: a master, two replicas, and three sentinels that watch them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/redis/server.hpp"

namespace holdfast::support {

class RedisReplicas {
 public:
  // down_after: how long a server may be silent before it counts as down; the failover takes about
  // as long again. A test that wants no failover on a busy machine needs patient sentinels.
  explicit RedisReplicas(Millis down_after = Millis(1000), const RedisOptions& options = {});

  std::string url() const;  // redis+sentinel://…/NAME
  static constexpr auto name = "mymaster";

  std::vector<std::unique_ptr<RedisServer>>& servers() noexcept { return servers_; }
  std::vector<std::unique_ptr<RedisServer>>& sentinels() noexcept { return sentinels_; }
  RedisServer& master();   // as the sentinels see it
  RedisServer& replica();  // any running server that is not the master

  // All sentinels know each other and name the same server, which is a master; every other running
  // server replicates it.
  bool agreed();

  RedisServer& failover();  // ordered while all are alive; returns the new master
  // After the old master died: the master that the sentinels chose instead.
  RedisServer& master_instead_of(const RedisServer& old);
  void clear();    // empties it; throws if the master has changed since the start
  void restart();  // the master, before the sentinels notice

 private:
  void monitor(Millis down_after);
  int master_port(RedisServer& sentinel);
  void order_failover();

  std::vector<std::unique_ptr<RedisServer>> servers_;
  std::vector<std::unique_ptr<RedisServer>> sentinels_;
};

}  // namespace holdfast::support
