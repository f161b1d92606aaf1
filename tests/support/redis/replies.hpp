// tests/support/redis/replies.hpp: all that a reader parses from a stream, as text to compare.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "stores/redis/reply.hpp"

namespace holdfast::support {

inline std::string shown(const stores::redis::Reply& reply) {
  using Type = stores::redis::Reply::Type;
  switch (reply.type) {
    case Type::nil: return "nil";
    case Type::status: return "+" + std::string(reply.text);
    case Type::error: return "-" + std::string(reply.text);
    case Type::integer: return std::to_string(reply.integer);
    case Type::bulk: return "'" + std::string(reply.text) + "'";
    case Type::array: break;
  }
  std::string text = "[";
  for (const auto& item : reply.items) text += (text.size() > 1 ? " " : "") + shown(item);
  return text + "]";
}

class Hearing {
 public:
  // Takes as many reads as needed; after each, parses everything that is complete.
  Hearing& hear(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto room = reader_.room();
      most_room_ = std::max(most_room_, room.size());
      const std::size_t count = std::min(room.size(), bytes.size());
      bytes.copy(room.data(), count);
      bytes.remove_prefix(count);
      reader_.filled(count);
      read();
    }
    return *this;
  }
  // One line per reply; the last one may be "broken: " and why.
  const std::string& told() const noexcept { return told_; }
  std::size_t room() { return reader_.room().size(); }
  std::size_t most_room() const noexcept { return most_room_; }

 private:
  void read() {
    using Step = stores::redis::Reader::Step;
    stores::redis::Reply reply;
    for (;;) {
      switch (reader_.next(reply)) {
        case Step::reply: told_ += shown(reply) + "\n"; continue;
        case Step::broken:
          if (!broken_) told_ += std::string("broken: ") + reader_.why();
          broken_ = true;
          return;
        case Step::more: return;
      }
    }
  }

  stores::redis::Reader reader_;
  std::string told_;
  std::size_t most_room_ = 0;
  bool broken_ = false;
};

inline std::string told_of(std::initializer_list<std::string_view> pieces) {
  Hearing hearing;
  for (const auto piece : pieces) hearing.hear(piece);
  return hearing.told();
}

}  // namespace holdfast::support
