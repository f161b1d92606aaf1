#include "support/zookeeper/sites.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

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
    try {
      return children_of(folder_of(name));
    } catch (const std::runtime_error&) {
      looker_.reset();  // Its session has ended, or its server.
      return children_of(folder_of(name));
    }
  }
  std::vector<std::string> left_of_clients() override {
    looker_.reset();
    std::vector<std::string> left;
    std::ranges::set_difference(entry(servers_).sessions(), sessions_before_,
                                std::back_inserter(left));
    for (auto& session : left) session.insert(0, "the session ");
    return left;
  }
  void clear() override {
    looker_.reset();
    sessions_before_ = entry(servers_).sessions();
    folder_ = "/test-" + std::to_string(++tests_);
    entry(servers_).client().create(folder_);
  }

 private:
  std::string folder_of(const std::string& name) const {
    return folder_ + "/holdfast/1/locks/" + percent_encoded(name);
  }
  std::vector<std::string> children_of(const std::string& folder) {
    if (!looker_) looker_.emplace(entry(servers_).port());
    looker_->sync();
    auto left = looker_->children(folder);
    if (left.empty() && looker_->exists(folder)) left.emplace_back("an empty folder");
    return left;
  }
  static ZooKeeperServer& entry(ZooKeeperServer& server) { return server; }
  static ZooKeeperServer& entry(ZooKeeperEnsemble& ensemble) { return ensemble.leader(); }

  Servers servers_;
  int tests_ = 0;
  std::string folder_;
  std::optional<ZooKeeperClient> looker_;  // To make one is a write, so this is kept.
  std::set<std::string> sessions_before_;  // left by tests that were killed
};

}  // namespace

std::unique_ptr<Site> single_zookeeper() {
  return std::make_unique<ZooKeeperSite<ZooKeeperServer>>();
}
std::unique_ptr<Site> ensemble_zookeeper() {
  return std::make_unique<ZooKeeperSite<ZooKeeperEnsemble>>();
}

}  // namespace holdfast::support
