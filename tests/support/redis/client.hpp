// tests/support/redis/client.hpp: a small blocking client, to look into a server and to meddle.
//
//   RedisClient redis(server.port());
//   redis.command({"CONFIG", "SET", "maxmemory", "1mb"});
//   EXPECT_GT(redis.command({"PTTL", key}).integer, 0);
#pragma once

#include <map>
#include <string>

#include "support/redis/wire.hpp"

namespace holdfast::support {

class RedisClient {
 public:
  explicit RedisClient(int port, const std::string& password = {});

  RedisReply command(const RedisCommand& words);  // throws if the server answers with an error
  RedisReply attempt(const RedisCommand& words);  // returns an error like any other answer
  RedisReply next() { return wire_.read(); }      // a message, after SUBSCRIBE or MONITOR

  std::string info(const std::string& section, const std::string& field);  // "" if there is none
  // How often each command was called since CONFIG RESETSTAT, by scripts too.
  std::map<std::string, long> calls();

 private:
  RedisWire wire_;
};

}  // namespace holdfast::support
