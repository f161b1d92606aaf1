#include "faults/consensus/keeper.hpp"

#include "support/etcd/cluster.hpp"
#include "support/zookeeper/ensemble.hpp"

namespace holdfast::support {
namespace {

using namespace std::chrono_literals;

class OfZooKeeper final : public Keeper {
 public:
  std::string url(Millis session) const override {
    return ensemble_.url() + "?session=" + std::to_string(session.count()) + "ms&tick=200ms";
  }
  void kill_leader() override {
    killed_ = &ensemble_.leader();
    killed_->kill();
  }
  void start_killed() override { killed_->start(); }
  std::uint64_t reign() override;
  void end_holder(const std::string& name) override;
  std::vector<std::string> left_of(const std::string& name) override {
    return ensemble_.leader().client().children(folder_of(name));
  }

 private:
  static std::string folder_of(const std::string& name) { return "/holdfast/1/locks/" + name; }

  ZooKeeperEnsemble ensemble_{{.config = {"maxSessionTimeout=60000"}}};
  ZooKeeperServer* killed_ = nullptr;
};

// "Zxid: 0x200000017": the upper half is the epoch.
std::uint64_t OfZooKeeper::reign() {
  const std::string said = ensemble_.leader().four_letter("srvr"), before = "Zxid: 0x";
  return std::stoull(said.substr(said.find(before) + before.size()), nullptr, 16) >> 32;
}

void OfZooKeeper::end_holder(const std::string& name) {
  end_holder_of(ensemble_.leader(), folder_of(name));
}

class OfEtcd final : public Keeper {
 public:
  std::string url(Millis) const override { return cluster_.url(); }
  void kill_leader() override {
    killed_ = &cluster_.leader();
    killed_->kill();
  }
  void start_killed() override { killed_->start(); }
  std::uint64_t reign() override { return cluster_.leader().status().term; }
  void end_holder(const std::string& name) override;
  std::vector<std::string> left_of(const std::string& name) override {
    return cluster_.left_of(name);
  }

 private:
  // Timeouts so long that a busy machine causes no election.
  EtcdCluster cluster_{{.heartbeat = 60ms, .election = 600ms}};
  EtcdServer* killed_ = nullptr;
};

void OfEtcd::end_holder(const std::string& name) { cluster_.end_holder(name); }

}  // namespace

std::unique_ptr<Keeper> zookeeper_keeper() { return std::make_unique<OfZooKeeper>(); }
std::unique_ptr<Keeper> etcd_keeper() { return std::make_unique<OfEtcd>(); }

}  // namespace holdfast::support
