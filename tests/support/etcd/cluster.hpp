// tests/support/etcd/cluster.hpp: three servers. With Links::proxied each can be cut off from the
// others while its clients still reach it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/etcd/server.hpp"
#include "support/proxy.hpp"

namespace holdfast::support {

class EtcdCluster {
 public:
  explicit EtcdCluster(const EtcdOptions& options = {}, Links links = Links::direct);

  std::string url() const;  // etcd://…, with all nodes
  std::vector<std::unique_ptr<EtcdServer>>& nodes() noexcept { return nodes_; }
  EtcdServer& leader();    // waits for one; if two claim to lead, the newer
  EtcdServer& follower();  // any running node that is not the leader
  std::vector<EtcdServer*> followers();

  // These need Links::proxied and last until heal().
  void cut(const EtcdServer& node);
  void delay(Millis each);                  // of everything between members, both ways
  void hold_from(const std::string& text);  // connections between members, as Proxy does
  void heal();

  bool agreed();  // all running nodes serve and know the same leader
  void await_agreement();
  void restart();  // all nodes
  // Any node will do, because each asks the leader, and finding the leader takes long.
  void clear() { any_running().clear(); }
  void end_holder(const std::string& name) { any_running().end_holder(name); }
  std::vector<std::string> left_of(const std::string& name) { return any_running().left_of(name); }
  std::vector<std::int64_t> leases() { return any_running().leases(); }

 private:
  EtcdServer& any_running();
  void need_doors() const;
  void start(const EtcdOptions& options, Links links);

  std::vector<std::unique_ptr<EtcdServer>> nodes_;
  std::vector<std::unique_ptr<Proxy>> doors_;  // one in front of each node, for its peers
};

}  // namespace holdfast::support
