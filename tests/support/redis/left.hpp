// tests/support/redis/left.hpp: what a server keeps of a name and of its clients, read with the raw
// client. It has its own description of the layout of a lock's key (scripts/line.lua), so that a
// test shares no mistake with what it tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/redis/server.hpp"

namespace holdfast::support {

// Claims, marks, and a running lock_delay. A state that contains only the last number is kept on
// purpose and does not count, as long as it expires. A node of a Cluster that does not have the key
// keeps nothing of it.
std::vector<std::string> left_in(RedisClient redis, const std::string& name);

// Waits until it is so. Marks of doubtful withdrawals stay for their ttl.
testing::AssertionResult nothing_left_but_marks(const RedisServer& server, const std::string& name);

// The channels on which open stores listen.
std::vector<std::string> channels_of(RedisClient redis);

}  // namespace holdfast::support
