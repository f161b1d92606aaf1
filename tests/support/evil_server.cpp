#include "support/evil_server.hpp"

#include <algorithm>

namespace holdfast::support {

EvilServer::EvilServer(Script script, const RedisServer* behind)
    : script_(std::move(script)),
      behind_(behind),
      reception_([this](Descriptor guest) { serve(RedisWire(std::move(guest))); }) {}

void EvilServer::serve(RedisWire wire) {
  std::optional<RedisClient> behind;  // One per guest: a server keeps state per connection.
  if (behind_ != nullptr) behind.emplace(behind_->client());
  for (;;) {
    RedisCommand command;
    for (auto& word : wire.read().items) command.push_back(std::move(word.text));
    if (command.empty()) continue;
    const auto say = answer(command, behind);
    {
      const std::lock_guard guard(mutex_);
      words_.push_back(command.front());
    }
    for (std::size_t time = 0; time < say.times; ++time) wire.send(say.bytes);
    if (say.then_close) return;
  }
}

Say EvilServer::answer(const RedisCommand& command, std::optional<RedisClient>& behind) const {
  if (auto say = script_(command)) return *std::move(say);
  return {behind ? encode(behind->attempt(command)) : "+OK\r\n"};
}

long EvilServer::commands(const std::string& word) const {
  const std::lock_guard guard(mutex_);
  return word.empty() ? static_cast<long>(words_.size()) : std::ranges::count(words_, word);
}

EvilServer::Script to_scripts(const Say& say) {
  return [say](const RedisCommand& command) -> std::optional<Say> {
    if (command.front() == "EVALSHA" || command.front() == "EVAL") return say;
    return std::nullopt;
  };
}

const std::vector<Poison>& poisons() {
  constexpr std::size_t endless = 1 << 14;  // pieces of 16 KiB: 256 MiB
  const auto kib = [](char byte) { return std::string(16 << 10, byte); };
  static const std::vector<Poison> all = {
      {"endless_line", {"+" + kib('A'), endless}},
      {"endless_error", {"-ERR " + kib('A'), endless}},
      {"endless_number", {":" + kib('1'), endless}},
      {"endless_length", {"$" + kib('1'), endless}},
      {"huge_bulk", {"$9223372036854775807\r\n"}},
      {"huge_bulk_with_bytes", {"$9223372036854775807\r\n" + kib('A'), endless}},
      {"overflowing_bulk", {"$99999999999999999999999\r\n"}},
      {"negative_bulk", {"$-2147483649\r\n"}},
      {"bulk_without_end", {"$2\r\nabcd\r\n"}},
      {"huge_array", {"*4294967295\r\n"}},
      {"huge_array_with_items", {"*2147483647\r\n" + std::string(4 << 10, '\0'), endless}},
      {"negative_array", {"*-7\r\n"}},
      {"depth", {"*1\r\n", 200'000}},
      {"doubling", {"*2\r\n", 200'000}},
      {"wide_and_deep", {"*1000000\r\n", 1000}},
      {"overflowing_number", {":99999999999999999999999\r\n"}},
      {"not_a_number", {":12x4\r\n"}},
      {"empty_number", {":\r\n"}},
      {"unknown_type", {"@what\r\n"}},
      {"empty_line", {"\r\n"}},
      {"bare_line_feed", {"+OK\n"}},
      {"zeros", {std::string(64, '\0')}},
      {"http", {"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"}},
      {"tls_alert", {std::string("\x15\x03\x01\x00\x02\x02\x28", 7)}},
      {"push", {">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\ny\r\n"}},
      {"attribute", {"|1\r\n$1\r\na\r\n$1\r\nb\r\n+OK\r\n"}},
      {"map", {"%1\r\n$1\r\na\r\n:1\r\n"}},
      {"status_for_array", {"+OK\r\n"}},
      {"number_for_array", {":1\r\n"}},
      {"bulk_for_array", {"$2\r\nOK\r\n"}},
      {"nil", {"$-1\r\n"}},
      {"nil_array", {"*-1\r\n"}},
      {"empty_array", {"*0\r\n"}},
      {"array_of_nil", {"*4\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n"}},
      {"array_of_arrays", {"*4\r\n*0\r\n*0\r\n*0\r\n*0\r\n"}},
      {"more_than_asked", {"*0\r\n+OK\r\n:1\r\n:1\r\n"}},
      {"error_of_a_megabyte", {"-ERR " + std::string(1 << 20, 'A') + "\r\n"}},
      {"error_for_a_terminal", {"-ERR \x1b]0;pwned\x07\x1b[2J%s%n\r\n"}},
      {"half_a_reply", {"*3\r\n$1\r\na", 1, true}},
      {"closed_without_a_word", {"", 1, true}},
  };
  return all;
}

}  // namespace holdfast::support
