// stores/redis/reply.hpp: replies of the server (RESP2). Bytes in, replies out; no socket.
//
// Safe with a hostile server: what a reply may cost is limited before its bytes arrive, and the
// reader stops for good at anything that is not RESP2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::stores::redis {

// A view of the reader's memory: valid until the reader is used again.
struct Reply {
  enum class Type : std::uint8_t { nil, status, error, integer, bulk, array };

  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string_view text{};  // status, error, bulk
  std::span<const Reply> items{};

  bool is_error() const noexcept { return type == Type::error; }
  // The item at that place, or a nil reply if the array is too short.
  const Reply& operator[](std::size_t at) const noexcept;
};

class Reader {
 public:
  static constexpr std::size_t most_bytes = std::size_t{16} << 20;  // of one reply
  static constexpr std::size_t most_items = 1 << 18;                // of one reply, nested ones too
  static constexpr std::size_t most_depth = 8;

  // Where the next bytes of the stream go, and how many came. Call next() until it returns `more`
  // before you ask for room again; otherwise the memory is not bounded.
  std::span<char> room();
  void filled(std::size_t bytes) noexcept { end_ += bytes; }

  enum class Step : std::uint8_t { reply, more, broken };
  Step next(Reply& reply);
  const char* why() const noexcept { return why_; }  // if broken: one line

 private:
  // Each reads the part that begins at `at` and returns its end. nullptr: it is incomplete, or why_
  // says what is wrong with it.
  const char* element(const char* at, Reply& read) noexcept;
  const char* number(const char* at, std::int64_t& value) noexcept;
  const char* line(const char* at, std::string_view& text) noexcept;
  const char* line_end(const char* at) noexcept;
  const char* bulk(const char* at, Reply& read) noexcept;
  const char* array(const char* at, Reply& read) noexcept;
  const char* fail(const char* why) noexcept;
  bool broken() const noexcept { return *why_ != 0; }

  Step take(const Reply& whole, Reply& reply) noexcept;
  bool is_full() const noexcept;
  void close_inner();
  void settle() noexcept;

  void make_room();
  void give_back() noexcept;
  void move_texts(const char* from, const char* to) noexcept;
  const char* end() const noexcept { return buffer_.get() + end_; }

  // An array whose items are still coming. Those that came are the end of open_, from `first` on.
  struct Frame {
    std::size_t first;
    std::size_t count;
  };

  // The bytes: [start_, end_) came and belong to no returned reply; the first unread one is at_.
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t start_ = 0;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::size_t scanned_ = 0;  // of an unfinished line: searched for its end already

  // The items: of incomplete arrays, and of complete arrays inside them.
  std::vector<Reply> open_;
  std::vector<Reply> closed_;
  std::array<Frame, most_depth> frames_{};
  std::size_t depth_ = 0;
  std::size_t declared_ = 0;  // items that all arrays announced together

  const char* why_ = "";
};

}  // namespace holdfast::stores::redis
