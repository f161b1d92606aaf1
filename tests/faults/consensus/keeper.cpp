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
  void end_holder(const std::string& name) override;
  std::vector<std::string> left_of(const std::string& name) override {
    return ensemble_.leader().client().children("/holdfast/1/locks/" + name);
  }

 private:
  ZooKeeperEnsemble ensemble_{{.config = {"maxSessionTimeout=60000"}}};
  ZooKeeperServer* killed_ = nullptr;
};

void OfZooKeeper::end_holder(const std::string& name) {
  end_holder_of(ensemble_.leader(), "/holdfast/1/locks/" + name);
}

class OfEtcd final : public Keeper {
 public:
  std::string url(Millis) const override { return cluster_.url(); }
  void kill_leader() override {
    killed_ = &cluster_.leader();
    killed_->kill();
  }
  void start_killed() override { killed_->start(); }
  void end_holder(const std::string& name) override;
  std::vector<std::string> left_of(const std::string& name) override {
    return cluster_.left_of(name);
  }

 private:
  // No election because a busy machine was slow.
  EtcdCluster cluster_{{.heartbeat = 60ms, .election = 600ms}};
  EtcdServer* killed_ = nullptr;
};

void OfEtcd::end_holder(const std::string& name) { cluster_.end_holder(name); }

}  // namespace

std::unique_ptr<Keeper> zookeeper_keeper() { return std::make_unique<OfZooKeeper>(); }
std::unique_ptr<Keeper> etcd_keeper() { return std::make_unique<OfEtcd>(); }

}  // namespace holdfast::support
