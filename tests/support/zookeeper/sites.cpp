#include "support/zookeeper/sites.hpp"

#include <algorithm>
#include <iterator>

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
    end_holder_of(entry(servers_), folder_of(name));
  }
  std::vector<std::string> left_of(const std::string& name) override {
    auto client = entry(servers_).client();
    client.sync();
    auto left = client.children(folder_of(name));
    if (left.empty() && client.exists(folder_of(name))) left.emplace_back("an empty folder");
    return left;
  }
  std::vector<std::string> left_of_clients() override {
    std::vector<std::string> left;
    std::ranges::set_difference(entry(servers_).sessions(), sessions_before_,
                                std::back_inserter(left));
    for (auto& session : left) session.insert(0, "the session ");
    return left;
  }
  void clear() override {
    sessions_before_ = entry(servers_).sessions();
    folder_ = "/test-" + std::to_string(++tests_);
    entry(servers_).client().create(folder_);
  }

 private:
  std::string folder_of(const std::string& name) const {
    return folder_ + "/holdfast/1/locks/" + percent_encoded(name);
  }
  static ZooKeeperServer& entry(ZooKeeperServer& server) { return server; }
  static ZooKeeperServer& entry(ZooKeeperEnsemble& ensemble) { return ensemble.leader(); }

  Servers servers_;
  int tests_ = 0;
  std::string folder_;
  std::set<std::string> sessions_before_;  // of tests that were killed
};

}  // namespace

std::unique_ptr<Site> single_zookeeper() {
  return std::make_unique<ZooKeeperSite<ZooKeeperServer>>();
}
std::unique_ptr<Site> ensemble_zookeeper() {
  return std::make_unique<ZooKeeperSite<ZooKeeperEnsemble>>();
}

}  // namespace holdfast::support
