// tests/support/zookeeper/ensemble.hpp: three servers. With Links::proxied each can be cut off from
// the others while its clients still reach it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/proxy.hpp"
#include "support/zookeeper/server.hpp"

namespace holdfast::support {

class ZooKeeperEnsemble {
 public:
  explicit ZooKeeperEnsemble(const ZooKeeperOptions& options = {}, Links links = Links::direct);

  std::string url() const;  // zookeeper://…, with all nodes
  std::vector<std::unique_ptr<ZooKeeperServer>>& nodes() noexcept { return nodes_; }
  ZooKeeperServer& leader();    // waits for one that has followers
  ZooKeeperServer& follower();  // any that serves

  // A leader that is cut off still leads, and a follower still serves, until its sync_limit.
  void cut(const ZooKeeperServer& node);
  void heal();

  bool agreed();  // all running nodes serve, and one of them leads
  void await_agreement();
  void restart();  // all nodes

 private:
  struct Ports {
    int clients, quorum, election;
  };
  // From one node to another: one proxy for the leader's port, one for votes. A follower may call a
  // new leader before that listens: if refused it tries again; if connected and then reset, not.
  struct Link {
    Link(int quorum_port, int election_port)
        : quorum(quorum_port, Millis(300)), election(election_port, Millis(300)) {}
    Proxy quorum, election;
  };

  void start(const ZooKeeperOptions& options, Links links);
  void link(const std::vector<Ports>& ports);
  std::vector<std::string> servers_seen_by(std::size_t node, const std::vector<Ports>& ports) const;
  ZooKeeperServer& any(const std::string& role);

  std::vector<std::unique_ptr<ZooKeeperServer>> nodes_;
  std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<Link>> links_;
};

}  // namespace holdfast::support
