// tests/support/redis/wire.hpp: RESP2 over a socket, for the tests' own client and servers.
// Separate from the store's reader on purpose: a test must not share a mistake with what it tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/sockets.hpp"

namespace holdfast::support {

using RedisCommand = std::vector<std::string>;

struct RedisReply {
  enum class Type : std::uint8_t { nil, status, error, integer, bulk, array };

  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string text;  // status, error, bulk
  std::vector<RedisReply> items;

  const RedisReply& operator[](std::size_t at) const { return items.at(at); }
};

std::string encode(const RedisCommand& command);
std::string encode(const RedisReply& reply);

// Every read and write ends at the socket's own timeout, or when the socket is shut down.
class RedisWire {
 public:
  explicit RedisWire(Descriptor socket) : socket_(std::move(socket)) {}

  int descriptor() const noexcept { return socket_.get(); }
  void send(std::string_view bytes);  // throws std::system_error
  RedisReply read();  // a command is an array of bulks; throws at the end of the stream

 private:
  RedisReply read(int depth);
  std::string line();
  std::string bytes(std::size_t count);
  void receive();

  Descriptor socket_;
  std::string unread_;
};

}  // namespace holdfast::support
