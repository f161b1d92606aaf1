// tests/faults/redis/on_redis.hpp: a test's own server, a raw client to meddle with it, and the
// command on it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "cli/cli.hpp"
#include "faults/redis/moments.hpp"
#include "faults/watched.hpp"
#include "holdfast/holdfast.hpp"
#include "support/redis/left.hpp"
#include "support/redis/server.hpp"
#include "support/results.hpp"

namespace holdfast::support {

// `holdfast` on a Redis server.
class OnRedis : public cli_test::Cli {
 protected:
  cli_test::Running::Plan plan_on(const std::string& url, const cli_test::Words& arguments) const {
    auto made = plan(arguments);
    made.environment["HOLDFAST_STORE"] = url;
    return made;
  }
  cli_test::Outcome holdfast_on(const std::string& url, const cli_test::Words& arguments) const {
    return cli_test::Running(plan_on(url, arguments)).wait();
  }

  const std::string name = "the/name";
  const std::string key = "hf:{the%2Fname}";
  const LockOptions long_lived{.ttl = held_long};
};

}  // namespace holdfast::support
