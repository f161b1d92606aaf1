#include "support/redis/replicas.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace holdfast::support {
namespace {

void wait_for(bool reached, const char* what) {
  if (!reached) throw std::runtime_error(std::string("it did not happen: ") + what);
}

// How often the sentinels act, in milliseconds. Their own pace (10 s, 1 s, 2 s) would take most of
// a test's time, and after a stall (a busy machine) they do nothing for 30 s. But they reject a
// replica that they have not looked at for five pings, and while the master is down they look once
// a second.
const RedisCommand lively = {"SENTINEL",    "DEBUG", "INFO-PERIOD",    "200",
                             "PING-PERIOD", "300",   "PUBLISH-PERIOD", "200",
                             "ASK-PERIOD",  "100",   "TILT-PERIOD",    "1000"};
const RedisCommand calm = {"SENTINEL",       "DEBUG", "INFO-PERIOD", "10000",
                           "PUBLISH-PERIOD", "2000",  "PING-PERIOD", "1000"};

std::map<std::string, std::string> pairs(const RedisReply& reply) {
  std::map<std::string, std::string> pairs;
  for (std::size_t at = 0; at + 1 < reply.items.size(); at += 2)
    pairs[reply[at].text] = reply[at + 1].text;
  return pairs;
}

bool is_master(RedisServer& server) {
  return server.client().info("replication", "role") == "master";
}

bool replicates(RedisServer& server, int port) {
  auto redis = server.client();
  return redis.info("replication", "master_link_status") == "up" &&
         redis.info("replication", "master_port") == std::to_string(port);
}

}  // namespace

RedisReplicas::RedisReplicas(Millis down_after, const RedisOptions& options) {
  auto with_replicas = options;
  with_replicas.config.emplace_back("repl-diskless-sync-delay 0");
  for (int count = 0; count < 3; ++count)
    servers_.push_back(std::make_unique<RedisServer>(with_replicas));
  const auto first = std::to_string(servers_.front()->port());
  for (const auto& server : servers_) {
    if (server == servers_.front()) continue;
    auto redis = server->client();
    redis.command({"REPLICAOF", "127.0.0.1", first});  // Faster than a line in its file,
    redis.command({"CONFIG", "REWRITE"});              // which it needs for a restart.
  }
  for (int count = 0; count < 3; ++count)
    sentinels_.push_back(std::make_unique<RedisServer>(RedisOptions{.program = "redis-sentinel"}));
  monitor(down_after);
}

void RedisReplicas::monitor(Millis down_after) {
  for (const auto& server : servers_)
    wait_for(server == servers_.front() ||
                 eventually([&] { return replicates(*server, servers_.front()->port()); }),
             "replication");
  const auto port = std::to_string(servers_.front()->port());
  const auto down = std::to_string(down_after.count());
  for (const auto& sentinel : sentinels_) {
    auto redis = sentinel->client();
    redis.command(lively);
    redis.command({"SENTINEL", "MONITOR", name, "127.0.0.1", port, "2"});
    redis.command(
        {"SENTINEL", "SET", name, "down-after-milliseconds", down, "failover-timeout", "3000"});
  }
  wait_for(eventually([&] { return agreed(); }), "sentinels that agree");
  if (down_after > std::chrono::seconds(5))
    for (const auto& sentinel : sentinels_) sentinel->client().command(calm);
}

std::string RedisReplicas::url() const {
  std::string hosts;
  for (const auto& sentinel : sentinels_) hosts += (hosts.empty() ? "" : ",") + sentinel->address();
  return "redis+sentinel://" + hosts + "/" + name;
}

int RedisReplicas::master_port(RedisServer& sentinel) {
  const auto reply = sentinel.client().command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name});
  return std::stoi(reply[1].text);
}

RedisServer& RedisReplicas::master() {
  for (const auto& sentinel : sentinels_) {
    if (!sentinel->running()) continue;
    const int port = master_port(*sentinel);
    const auto found = std::ranges::find(servers_, port, [](auto& each) { return each->port(); });
    if (found != servers_.end()) return **found;
  }
  throw std::runtime_error("no sentinel names a master of ours");
}

RedisServer& RedisReplicas::replica() {
  auto& now = master();
  for (const auto& server : servers_)
    if (server.get() != &now && server->running()) return *server;
  throw std::runtime_error("no replica runs");
}

bool RedisReplicas::agreed() try {
  auto& named = master();
  if (!named.running() || !is_master(named)) return false;
  const auto others = std::to_string(sentinels_.size() - 1);
  for (const auto& sentinel : sentinels_) {
    if (!sentinel->running()) continue;
    auto seen = pairs(sentinel->client().command({"SENTINEL", "MASTER", name}));
    if (seen["port"] != std::to_string(named.port()) || seen["flags"] != "master" ||
        seen["num-slaves"] != std::to_string(servers_.size() - 1) ||
        seen["num-other-sentinels"] != others)
      return false;
  }
  return std::ranges::all_of(servers_, [&](auto& server) {
    return server.get() == &named || !server->running() || replicates(*server, named.port());
  });
} catch (const std::exception&) {
  return false;  // A server that changes its role closes its connections.
}

RedisServer& RedisReplicas::failover() {
  const auto& old = master();
  // Sentinels that stalled for a while give up a failover, refuse one because they find no replica
  // good enough, or promote the old master again. So this orders one until it has happened; while
  // one is under way, sentinels refuse another. The old master may be dead.
  const bool changed = eventually([&] {
    if (&master() != &old) return agreed();
    order_failover();
    return false;
  });
  wait_for(changed, "an ordered failover");
  return master();
}

void RedisReplicas::order_failover() try {
  sentinels_.front()->client().command({"SENTINEL", "FAILOVER", name});
} catch (const std::exception&) {
  return;  // Refused.
}

RedisServer& RedisReplicas::master_instead_of(const RedisServer& old) {
  wait_for(eventually([&] { return &master() != &old && agreed(); }), "a failover");
  return master();
}

void RedisReplicas::clear() {
  if (&master() != servers_.front().get() || !agreed())
    throw std::runtime_error("the master has changed");
  auto redis = master().client();
  redis.command({"FLUSHALL"});
  redis.command({"SCRIPT", "FLUSH"});
}

void RedisReplicas::restart() {
  master().restart();
  wait_for(eventually([&] { return agreed(); }), "replicas that have found the master again");
}

}  // namespace holdfast::support
