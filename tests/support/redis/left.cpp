#include "support/redis/left.hpp"

#include <stdexcept>

#include "support/eventually.hpp"
#include "support/percent.hpp"

namespace holdfast::support {
namespace {

constexpr std::size_t state_size = 24, line_size = 84;  // bytes in front of a record
constexpr std::size_t at_shape = 2, at_delay_until = 8, at_standing = 40;
constexpr char nobody = 0, one_has_all = 1, waits = 1;

std::int64_t number_at(const std::string& bytes, std::size_t at) {
  std::uint64_t number = 0;
  for (const char byte : bytes.substr(at, 8))
    number = number << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(number);
}

std::int64_t time_of(RedisClient& redis) {
  const auto time = redis.command({"TIME"});
  return std::stoll(time[0].text) * 1'000'000 + std::stoll(time[1].text);
}

void add_state(const std::string& state, std::int64_t now_us, std::vector<std::string>& left) {
  if (state.size() < 32) return left.push_back("a state that is not ours");
  const char shape = state[at_shape];
  const bool held_whole =
      shape == one_has_all || (shape != nobody && state.size() > state_size + line_size);
  if (held_whole) left.emplace_back("a holder of all");
  if (number_at(state, at_delay_until) > now_us) left.emplace_back("a lock_delay");
}

std::string meaning(const std::string& field, const std::string& value) {
  switch (field[0]) {
    case 'e': return value.at(at_standing) == waits ? "a waiter" : "a holder of a part";
    case 'm': return "a mark";
    case 'd': return "whose lock_delay it is";
    case 'n':
    case 'p': return "a link to a neighbour";
    default: return "a field that is not ours: " + field;
  }
}

}  // namespace

std::vector<std::string> left_in(RedisClient redis, const std::string& name) {
  const auto key = "hf:{" + percent_encoded(name) + "}";
  const auto fields = redis.attempt({"HGETALL", key});
  if (fields.text.starts_with("MOVED")) return {};
  if (fields.type == RedisReply::Type::error) throw std::runtime_error(key + ": " + fields.text);
  std::vector<std::string> left;
  for (std::size_t at = 0; at < fields.items.size(); at += 2) {
    if (fields[at].text == "s")
      add_state(fields[at + 1].text, time_of(redis), left);
    else
      left.push_back(meaning(fields[at].text, fields[at + 1].text));
  }
  if (redis.command({"PTTL", key}).integer == -1) left.emplace_back("a key without an expiry");
  return left;
}

testing::AssertionResult nothing_left_but_marks(const RedisServer& server,
                                                const std::string& name) {
  std::vector<std::string> left;
  const auto nothing = [&] {
    left = left_in(server.client(), name);
    std::erase(left, "a mark");
    return left.empty();
  };
  if (eventually(nothing)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "left of " << name << ": " << testing::PrintToString(left);
}

std::vector<std::string> channels_of(RedisClient redis) {
  std::vector<std::string> channels;
  for (const auto& channel : redis.command({"PUBSUB", "CHANNELS", "hf:to:*"}).items)
    channels.push_back("the channel " + channel.text);
  return channels;
}

}  // namespace holdfast::support
