#include "support/zookeeper/sites.hpp"

#include "support/percent.hpp"
#include "support/zookeeper/ensemble.hpp"

namespace holdfast::support {
namespace {

constexpr auto options = "?session=20s&tick=200ms";

template <class Servers>
class ZooKeeperSite : public Site {
 public:
  ZooKeeperSite() { clear(); }
  std::string url() const override { return servers_.url() + folder_ + options; }
  void restart() override { servers_.restart(); }
  void end_holder(const std::string& name) override {
    end_holder_of(entry(servers_), folder_ + "/holdfast/1/locks/" + percent_encoded(name));
  }
  void clear() override {
    folder_ = "/test-" + std::to_string(++tests_);
    entry(servers_).client().create(folder_);
  }

 private:
  static ZooKeeperServer& entry(ZooKeeperServer& server) { return server; }
  static ZooKeeperServer& entry(ZooKeeperEnsemble& ensemble) { return ensemble.leader(); }

  Servers servers_;
  int tests_ = 0;
  std::string folder_;
};

}  // namespace

std::unique_ptr<Site> single_zookeeper() {
  return std::make_unique<ZooKeeperSite<ZooKeeperServer>>();
}
std::unique_ptr<Site> ensemble_zookeeper() {
  return std::make_unique<ZooKeeperSite<ZooKeeperEnsemble>>();
}

}  // namespace holdfast::support
