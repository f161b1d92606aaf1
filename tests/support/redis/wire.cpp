#include "support/redis/wire.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace holdfast::support {
namespace {

using Type = RedisReply::Type;

constexpr std::size_t most_bytes = std::size_t{64} << 20;  // of a line, a bulk or an array
constexpr int most_depth = 8;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::size_t bounded(std::int64_t length) {
  if (static_cast<std::size_t>(length) > most_bytes)
    throw std::runtime_error("a length in a reply is out of bounds: " + std::to_string(length));
  return static_cast<std::size_t>(length);
}

}  // namespace

std::string encode(const RedisCommand& command) {
  std::string out = "*" + std::to_string(command.size()) + "\r\n";
  for (const auto& word : command)
    out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return out;
}

std::string encode(const RedisReply& reply) {
  switch (reply.type) {
    case Type::nil: return "$-1\r\n";
    case Type::status: return "+" + reply.text + "\r\n";
    case Type::error: return "-" + reply.text + "\r\n";
    case Type::integer: return ":" + std::to_string(reply.integer) + "\r\n";
    case Type::bulk: return "$" + std::to_string(reply.text.size()) + "\r\n" + reply.text + "\r\n";
    case Type::array: break;
  }
  std::string out = "*" + std::to_string(reply.items.size()) + "\r\n";
  for (const auto& item : reply.items) out += encode(item);
  return out;
}

void RedisWire::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot send");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

RedisReply RedisWire::read() { return read(0); }

RedisReply RedisWire::read(int depth) {
  if (depth > most_depth) throw std::runtime_error("a reply is nested too deeply");
  const auto head = line();
  if (head.empty()) throw std::runtime_error("a reply begins with an empty line");
  const auto rest = head.substr(1);
  switch (head.front()) {
    case '+': return {Type::status, 0, rest, {}};
    case '-': return {Type::error, 0, rest, {}};
    case ':': return {Type::integer, std::stoll(rest), {}, {}};
    default: break;
  }
  const bool is_array = head.front() == '*';
  if (!is_array && head.front() != '$') throw std::runtime_error("this is not RESP2: " + head);
  if (rest == "-1") return {};
  const auto length = bounded(std::stoll(rest));
  RedisReply reply;
  if (is_array) {
    reply.type = Type::array;
    for (std::size_t at = 0; at < length; ++at) reply.items.push_back(read(depth + 1));
  } else {
    reply.type = Type::bulk;
    reply.text = bytes(length);
    bytes(2);
  }
  return reply;
}

std::string RedisWire::line() {
  for (std::size_t searched = 0; unread_.size() <= most_bytes; receive()) {
    if (const auto end = unread_.find("\r\n", searched); end != std::string::npos) {
      auto line = unread_.substr(0, end);
      unread_.erase(0, end + 2);
      return line;
    }
    searched = unread_.empty() ? 0 : unread_.size() - 1;
  }
  throw std::runtime_error("a line does not end");
}

std::string RedisWire::bytes(std::size_t count) {
  while (unread_.size() < count) receive();
  auto bytes = unread_.substr(0, count);
  unread_.erase(0, count);
  return bytes;
}

void RedisWire::receive() {
  char bytes[16384];
  const auto count = support::receive(socket_, bytes, sizeof bytes);
  if (count < 0) fail("cannot receive");
  if (count == 0) throw std::runtime_error("the connection was closed");
  unread_.append(bytes, static_cast<std::size_t>(count));
}

}  // namespace holdfast::support
