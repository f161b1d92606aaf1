// tests/faults/redis/behind_proxy.hpp: a real server that alice reaches through a proxy, and bob
// directly.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "faults/redis/moments.hpp"
#include "support/diary.hpp"
#include "support/proxy.hpp"
#include "support/redis/server.hpp"
#include "support/results.hpp"
#include "support/skewed_clock.hpp"

namespace holdfast::support {

class BehindProxy : public testing::Test {
 protected:
  std::string url() const { return "redis://" + proxy.address(); }
  Store client(const StoreOptions& options = {}) const { return open(url(), options).value(); }
  // Already connected, so the next bytes are no greeting.
  Store connected_client(const StoreOptions& options = {}) const {
    auto store = client(options);
    EXPECT_TRUE(succeeded(store.lock("to/connect").acquire()));
    return store;
  }

  static constexpr Millis impatient{1000};  // for clients that are to give up
  const std::string name = "the/name";
  const LockOptions long_lived{.ttl = held_long};
  SkewedClock clock;  // the server's
  RedisServer server{{.environment = clock.environment()}};
  Proxy proxy{server.port()};
  const Store bob = open(server.url()).value();
};

}  // namespace holdfast::support
