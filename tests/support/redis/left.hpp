// tests/support/redis/left.hpp: what a server keeps of a name and of its clients, read with the raw
// client. It knows the layout of a lock's key once more (scripts/line.lua), so that a test shares
// no mistake with what it tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/redis/server.hpp"

namespace holdfast::support {

// Claims, marks, and a lock_delay that runs. The state that has nothing but the last number in it
// is kept on purpose and does not count, as long as it expires. A Cluster's node that does not have
// the key keeps nothing of it.
std::vector<std::string> left_in(RedisClient redis, const std::string& name);

// In the end; marks of doubtful withdrawals stay for their ttl.
testing::AssertionResult nothing_left_but_marks(const RedisServer& server, const std::string& name);

// The channels on which open stores listen.
std::vector<std::string> channels_of(RedisClient redis);

}  // namespace holdfast::support
