#include "support/redis/client.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <sstream>
#include <stdexcept>

#include "support/eventually.hpp"

namespace holdfast::support {
namespace {

Descriptor with_timeouts(Descriptor socket) {
  const timeval bound{std::chrono::floor<std::chrono::seconds>(patient).count(), 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
  return socket;
}

// The lines "field:value" of a section.
std::map<std::string, std::string> fields_of(const std::string& text) {
  std::map<std::string, std::string> fields;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (const auto colon = line.find(':'); colon != std::string::npos)
      fields[line.substr(0, colon)] = line.substr(colon + 1);
  }
  return fields;
}

}  // namespace

RedisClient::RedisClient(int port, const std::string& password)
    : wire_(with_timeouts(connect_to(port))) {
  if (!password.empty()) command({"AUTH", password});
}

RedisReply RedisClient::command(const RedisCommand& words) {
  auto reply = attempt(words);
  if (reply.type == RedisReply::Type::error)
    throw std::runtime_error(words.front() + " was answered with " + reply.text);
  return reply;
}

RedisReply RedisClient::attempt(const RedisCommand& words) {
  wire_.send(encode(words));
  return wire_.read();
}

std::string RedisClient::info(const std::string& section, const std::string& field) {
  return fields_of(command({"INFO", section}).text)[field];
}

std::map<std::string, long> RedisClient::calls() {
  constexpr std::string_view head = "cmdstat_", count = "calls=";
  std::map<std::string, long> calls;
  for (const auto& [field, value] : fields_of(command({"INFO", "commandstats"}).text))
    calls[field.substr(head.size())] = std::stol(value.substr(count.size()));
  return calls;
}

}  // namespace holdfast::support
