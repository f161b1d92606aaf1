// tests/support/evil_server.hpp: a server that speaks RESP only as far as the test wants.
//
//   EvilServer evil([](const RedisCommand& command) -> std::optional<Say> {
//     if (command.front() == "EVALSHA") return Say{"$9223372036854775807\r\n"};
//     return std::nullopt;
//   }, &real);
//
// The real server behind answers what the script does not. Without one, the answer is "+OK".
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "support/reception.hpp"
#include "support/redis/server.hpp"

namespace holdfast::support {

struct Say {
  std::string bytes;      // sent as they are; empty: silence
  std::size_t times = 1;  // in a row, until the client disconnects
  bool then_close = false;
};

class EvilServer {
 public:
  // Runs on the thread of the connection that sent the command.
  using Script = std::function<std::optional<Say>(const RedisCommand&)>;

  explicit EvilServer(Script script, const RedisServer* behind = nullptr);

  int port() const noexcept { return reception_.port(); }
  std::string address() const { return reception_.address(); }
  std::string url() const { return "redis://" + address(); }

  long connections() const { return reception_.guests(); }
  long commands(const std::string& word) const;  // that began with this word; "": all

 private:
  void serve(RedisWire wire);
  Say answer(const RedisCommand& command, std::optional<RedisClient>& behind) const;

  const Script script_;
  const RedisServer* const behind_;
  mutable std::mutex mutex_;
  std::vector<std::string> words_;
  Reception reception_;  // last, because it uses the members above
};

// Says this to every EVAL and EVALSHA; the server behind answers everything else.
EvilServer::Script to_scripts(const Say& say);

struct Poison {
  std::string name;
  Say say;
};
// Replies that no real server sends: lengths, depths and lines without bounds, types that nobody
// asked for, malformed numbers, texts that would control a terminal.
const std::vector<Poison>& poisons();

}  // namespace holdfast::support
