// tests/support/redis/replicas.hpp: a master, two replicas, and three sentinels that watch them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/redis/server.hpp"

namespace holdfast::support {

class RedisReplicas {
 public:
  // After how long without an answer a server counts as down; the failover takes about as long
  // again. Patient sentinels suit a test that wants none, on a busy machine.
  explicit RedisReplicas(Millis down_after = Millis(1000), const RedisOptions& options = {});

  std::string url() const;  // redis+sentinel://…/NAME
  static constexpr auto name = "mymaster";

  std::vector<std::unique_ptr<RedisServer>>& servers() noexcept { return servers_; }
  std::vector<std::unique_ptr<RedisServer>>& sentinels() noexcept { return sentinels_; }
  RedisServer& master();   // as the sentinels see it
  RedisServer& replica();  // one of the others that runs

  // All sentinels name one master, which is one, and know of each other; every running server but
  // the master replicates it.
  bool agreed();

  RedisServer& failover();  // ordered, with all alive; the new master
  // After its death: the master that the sentinels chose instead.
  RedisServer& master_instead_of(const RedisServer& old);
  void clear();    // empties it; throws when the master is not what it was at first
  void restart();  // the master, which comes back before the sentinels mind

 private:
  void monitor(Millis down_after);
  int master_port(RedisServer& sentinel);
  void order_failover();

  std::vector<std::unique_ptr<RedisServer>> servers_;
  std::vector<std::unique_ptr<RedisServer>> sentinels_;
};

}  // namespace holdfast::support
