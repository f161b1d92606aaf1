// tests/stores/zookeeper_world.hpp: one server for all tests of a suite, with a folder for each.
#pragma once

#include "core/url.hpp"
#include "stores/recorder.hpp"
#include "support/results.hpp"
#include "support/zookeeper/server.hpp"

namespace holdfast::testing_support {

class ZooKeeperWorld : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<support::ZooKeeperServer>(); }
  static void TearDownTestSuite() { server_.reset(); }

  static support::ZooKeeperServer& server() { return *server_; }
  // Through `address`, which may be a proxy's.
  std::string url(const std::string& address = server_->address()) const {
    return "zookeeper://" + address + folder_ + "?session=20s&tick=200ms";
  }
  Store client() const { return open(url()).value(); }
  std::string node(const std::string& name) const { return folder_ + "/holdfast/1/locks/" + name; }

  // The children of a lock's node, with their whole paths.
  std::vector<std::string> nodes(const std::string& name) {
    std::vector<std::string> all;
    for (const auto& child : raw.children(node(name))) all.push_back(node(name) + "/" + child);
    return all;
  }
  std::int64_t owner_of(const std::string& path) {
    return raw.exists(path).value().ephemeral_owner;
  }

  support::ZooKeeperClient raw = server_->client();

 private:
  static inline std::unique_ptr<support::ZooKeeperServer> server_;
  static inline int tests_ = 0;
  const std::string folder_ = "/test-" + std::to_string(++tests_);
};

// An open store without the core. Its thread helps only while it asks.
class ZooKeeperStoreClient : public Client {
 public:
  explicit ZooKeeperStoreClient(const std::string& url)
      : Client(holdfast_module()->open, parsed(url)) {
    if (!*this) throw std::runtime_error(problem.text);
  }

 private:
  static Url parsed(const std::string& text) {
    Url url;
    Problem problem;
    if (!core::parse_url(text, url, problem)) throw std::runtime_error(problem.text);
    return url;
  }
};

}  // namespace holdfast::testing_support
