#include "support/etcd/sites.hpp"

#include "support/etcd/cluster.hpp"

namespace holdfast::support {
namespace {

template <class Servers>
class EtcdSite : public Site {
 public:
  explicit EtcdSite(const EtcdOptions& options = {}) : servers_(options) {}
  std::string url() const override { return servers_.url(); }
  void restart() override { servers_.restart(); }
  void clear() override { servers_.clear(); }
  void end_holder(const std::string& name) override { servers_.end_holder(name); }
  std::vector<std::string> left_of(const std::string& name) override {
    return servers_.left_of(name);
  }
  std::vector<std::string> left_of_clients() override {
    std::vector<std::string> left;
    for (const auto lease : servers_.leases()) left.push_back("the lease " + std::to_string(lease));
    return left;
  }

 private:
  Servers servers_;
};

}  // namespace

std::unique_ptr<Site> single_etcd() { return std::make_unique<EtcdSite<EtcdServer>>(); }
std::unique_ptr<Site> tls_etcd() {
  return std::make_unique<EtcdSite<EtcdServer>>(
      EtcdOptions{.tls = authority().issue(loopback_names)});
}
// Slower than the default of these tests, because a slow machine must not cause an election.
std::unique_ptr<Site> cluster_etcd() {
  return std::make_unique<EtcdSite<EtcdCluster>>(
      EtcdOptions{.heartbeat = Millis(60), .election = Millis(600)});
}

}  // namespace holdfast::support
