// tests/stores/shared_servers.hpp: servers that take long to start, for all cases of a suite.
//
//   static inline SharedServers<RedisCluster> shared;
//   RedisCluster& cluster = shared.empty();
//
// A case that changes them makes the next case wait for new ones, so such cases come last.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>

namespace holdfast::testing_support {

template <class Servers>
class SharedServers {
 public:
  explicit SharedServers(std::function<std::unique_ptr<Servers>()> make = std::make_unique<Servers>)
      : make_(std::move(make)) {}

  Servers& empty() {
    try {
      if (servers_) servers_->clear();
    } catch (const std::exception&) {
      servers_.reset();
    }
    if (!servers_) servers_ = make_();
    return *servers_;
  }
  void end() { servers_.reset(); }

 private:
  const std::function<std::unique_ptr<Servers>()> make_;
  std::unique_ptr<Servers> servers_;
};

}  // namespace holdfast::testing_support
