// tests/faults/redis/behind_proxy.hpp: a real server that alice reaches through a proxy, and bob
// directly.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/diary.hpp"
#include "support/proxy.hpp"
#include "support/redis/server.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast::support {

class BehindProxy : public testing::Test {
 protected:
  std::string url() const { return "redis://" + proxy.address(); }
  Store client(StoreOptions options = {}) const {
    if (options.patience > impatient) options.patience = impatient;
    return open(url(), options).value();
  }
  // Its connection stands: what comes next on it is no greeting.
  Store connected_client(const StoreOptions& options = {}) const {
    auto store = client(options);
    EXPECT_TRUE(succeeded(store.lock("to/connect").acquire()));
    return store;
  }

  static constexpr Millis impatient{2000};
  const std::string name = "the/name";
  const LockOptions long_lived{.ttl = held_long};
  RedisServer server;
  Proxy proxy{server.port()};
  const Store bob = open(server.url()).value();
};

}  // namespace holdfast::support
