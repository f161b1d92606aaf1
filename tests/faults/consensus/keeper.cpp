#include "faults/consensus/keeper.hpp"

#include "support/etcd/cluster.hpp"
#include "support/zookeeper/ensemble.hpp"

namespace holdfast::support {
namespace {

using namespace std::chrono_literals;

// The part of a store's answer between two marks.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto from = text.find(begin);
  if (from == std::string::npos) return {};
  const auto start = from + begin.size();
  return text.substr(start, text.find(end, start) - start);
}

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

 private:
  ZooKeeperEnsemble ensemble_{{.config = {"maxSessionTimeout=60000"}}};
  ZooKeeperServer* killed_ = nullptr;
};

// Of the children of a lock the first has it.
void OfZooKeeper::end_holder(const std::string& name) {
  ZooKeeperServer& server = ensemble_.leader();
  auto client = server.client();
  const std::string lock = "/holdfast/1/locks/" + name;
  const std::string before = lock + "/";
  std::optional<ZooKeeperStat> first;
  for (const auto& child : client.children(lock)) {
    const auto stat = client.exists(before + child);
    if (stat && stat->ephemeral_owner != 0 && (!first || stat->czxid < first->czxid)) first = stat;
  }
  if (!first) throw std::runtime_error("nobody holds " + name);
  end_session(server.port(), first->ephemeral_owner);
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

 private:
  EtcdCluster cluster_;
  EtcdServer* killed_ = nullptr;
};

void OfEtcd::end_holder(const std::string& name) {
  EtcdServer& server = cluster_.leader();
  const std::string first = server.ctl({"get", "holdfast/1/locks/" + name + "/", "--prefix",
                                        "--sort-by=CREATE", "--limit=1", "-w", "fields"});
  const std::string lease = between(first, "\"Lease\" : ", "\n");
  char hex[17] = {};
  std::snprintf(hex, sizeof hex, "%lx", std::stoul(lease));
  server.ctl({"lease", "revoke", hex});
}

}  // namespace

std::unique_ptr<Keeper> zookeeper_keeper() { return std::make_unique<OfZooKeeper>(); }
std::unique_ptr<Keeper> etcd_keeper() { return std::make_unique<OfEtcd>(); }

}  // namespace holdfast::support
