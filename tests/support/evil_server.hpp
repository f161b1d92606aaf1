// tests/support/evil_server.hpp: a server that speaks RESP as far as the test wants it to.
//
//   EvilServer evil([](const RedisCommand& command) -> std::optional<Say> {
//     if (command.front() == "EVALSHA") return Say{"$9223372036854775807\r\n"};
//     return std::nullopt;
//   }, &real);
//
// What the script does not answer, the real server behind it does; without one, it is "+OK".
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
  std::string bytes;      // as they are; none: silence
  std::size_t times = 1;  // in a row, or until the client has gone
  bool then_close = false;
};

class EvilServer {
 public:
  // Runs on a thread of the connection that sent the command.
  using Script = std::function<std::optional<Say>(const RedisCommand&)>;

  explicit EvilServer(Script script, const RedisServer* behind = nullptr);

  int port() const noexcept { return reception_.port(); }
  std::string address() const { return reception_.address(); }
  std::string url() const { return "redis://" + address(); }

  long connections() const { return reception_.guests(); }
  long commands(const std::string& word) const;  // that began with it; "": all

 private:
  void serve(RedisWire wire);
  Say answer(const RedisCommand& command, std::optional<RedisClient>& behind) const;

  const Script script_;
  const RedisServer* const behind_;
  mutable std::mutex mutex_;
  std::vector<std::string> words_;
  Reception reception_;  // the last, for it uses all of these
};

// The same to EVAL and EVALSHA; everything else is answered by the server behind.
EvilServer::Script to_scripts(const Say& say);

struct Poison {
  std::string name;
  Say say;
};
// Replies that no server sends: lengths, depths and lines without bounds, types that nobody asked
// for, numbers that are none, texts that would write to a terminal.
const std::vector<Poison>& poisons();

}  // namespace holdfast::support
