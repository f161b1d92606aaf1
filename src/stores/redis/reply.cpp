#include "stores/redis/reply.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>

namespace holdfast::stores::redis {
namespace {

constexpr std::size_t usual_bytes = std::size_t{16} << 10;  // the first buffer
constexpr std::size_t kept_bytes = std::size_t{256} << 10;  // a larger one is freed after its reply
constexpr std::size_t kept_items = 4096;
constexpr std::size_t least_room = std::size_t{4} << 10;

constexpr char too_long[] = "a reply of more than 16 MiB";
constexpr char no_line_end[] = "a line without CR LF at its end";

// Where the items of an inner array lie in closed_. The array keeps this in its `integer` while
// closed_ may still move.
struct Block {
  std::uint32_t first;
  std::uint32_t count;
};
static_assert(Reader::most_items <= std::numeric_limits<std::uint32_t>::max());

const char* why_unknown(char type) noexcept {
  constexpr std::string_view resp3 = "_,#!=(%~>|";
  if (resp3.find(type) != resp3.npos) return "a reply of RESP3, which was not asked for";
  if (type == '\x15') return "the server speaks TLS on this port";
  return "a reply of no known type: this is no Redis server";
}

}  // namespace

const Reply& Reply::operator[](std::size_t at) const noexcept {
  static constexpr Reply nothing{};
  return at < items.size() ? items[at] : nothing;
}

// ── the bytes ────────────────────────────────────────────────────────────────────────────────────

std::span<char> Reader::room() {
  if (start_ == end_ || broken()) give_back();
  if (capacity_ - end_ < least_room) make_room();
  return {buffer_.get() + end_, capacity_ - end_};
}

// No reply is under way: the memory is used again from its start, or freed if it has become large.
void Reader::give_back() noexcept {
  start_ = at_ = end_ = 0;
  if (capacity_ > kept_bytes) {
    buffer_.reset();
    capacity_ = 0;
  }
  for (auto* items : {&open_, &closed_}) {
    items->clear();
    if (items->capacity() > kept_items) std::vector<Reply>().swap(*items);
  }
}

// Grows to four times what has come, and never beyond the largest reply: a length that is only
// announced costs nothing, nor does room that is not yet filled. The last step goes straight to the
// limit, because each step copies.
void Reader::make_room() {
  const std::size_t used = end_ - start_;
  const std::size_t most = most_bytes + least_room;
  const std::size_t grown = 4 * used < most / 2 ? 4 * used : most;
  const std::size_t wanted = std::max({capacity_, usual_bytes, used + least_room, grown});
  const char* const from = buffer_.get() + start_;
  if (wanted == capacity_) {
    move_texts(from, buffer_.get());
    std::memmove(buffer_.get(), from, used);
  } else {
    auto larger = std::make_unique_for_overwrite<char[]>(wanted);
    if (used != 0) std::memcpy(larger.get(), from, used);
    move_texts(from, larger.get());
    buffer_ = std::move(larger);
    capacity_ = wanted;
  }
  at_ -= start_;
  end_ -= start_;
  start_ = 0;
}

void Reader::move_texts(const char* from, const char* to) noexcept {
  for (auto* items : {&open_, &closed_})
    for (Reply& item : *items)
      if (item.text.data()) item.text = {to + (item.text.data() - from), item.text.size()};
}

// ── one element ──────────────────────────────────────────────────────────────────────────────────

const char* Reader::fail(const char* why) noexcept {
  why_ = why;
  return nullptr;
}

const char* Reader::element(const char* at, Reply& read) noexcept {
  if (at == end()) return nullptr;
  switch (*at) {
    case ':': read.type = Reply::Type::integer; return number(at + 1, read.integer);
    case '$': return bulk(at + 1, read);
    case '*': return array(at + 1, read);
    case '+': read.type = Reply::Type::status; return line(at + 1, read.text);
    case '-': read.type = Reply::Type::error; return line(at + 1, read.text);
    default: return fail(why_unknown(*at));
  }
}

const char* Reader::number(const char* at, std::int64_t& value) noexcept {
  const char* const end = this->end();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  const char* const digits = at;
  std::uint64_t read = 0;
  for (; at != end && *at >= '0' && *at <= '9'; ++at) {
    if (at - digits == 19) return fail("a number with too many digits");
    read = read * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  if (at == end) return nullptr;
  if (at == digits) return fail("a number without digits");
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (read > most + (negative ? 1 : 0)) return fail("a number that is too large");
  value = static_cast<std::int64_t>(negative ? 0 - read : read);
  return line_end(at);
}

const char* Reader::line_end(const char* at) noexcept {
  const auto left = end() - at;
  if (left > 0 && at[0] != '\r') return fail(no_line_end);
  if (left > 1 && at[1] != '\n') return fail(no_line_end);
  return left > 1 ? at + 2 : nullptr;
}

const char* Reader::line(const char* at, std::string_view& text) noexcept {
  const char* const unseen = at + scanned_;
  const auto left = static_cast<std::size_t>(end() - unseen);
  const void* const found = std::memchr(unseen, '\r', left);
  if (!found) {
    scanned_ += left;
    return nullptr;
  }
  const char* const behind = static_cast<const char*>(found);
  const char* const next = line_end(behind);
  if (!next) return nullptr;
  text = {at, static_cast<std::size_t>(behind - at)};
  if (text.find('\n') != text.npos) return fail(no_line_end);
  return next;
}

const char* Reader::bulk(const char* at, Reply& read) noexcept {
  std::int64_t length = 0;
  at = number(at, length);
  if (!at || length == -1) return at;
  if (length < 0) return fail("a string of negative length");
  const auto before = static_cast<std::size_t>(at - (buffer_.get() + start_));
  const auto size = static_cast<std::uint64_t>(length);
  if (size > most_bytes || before + size + 2 > most_bytes) return fail(too_long);
  if (static_cast<std::size_t>(end() - at) < size) return nullptr;
  read.type = Reply::Type::bulk;
  read.text = {at, size};
  return line_end(at + size);
}

const char* Reader::array(const char* at, Reply& read) noexcept {
  std::int64_t count = 0;
  at = number(at, count);
  if (!at || count == -1) return at;
  if (count < 0) return fail("an array of negative length");
  const auto items = static_cast<std::uint64_t>(count);
  if (items > most_items - declared_) return fail("a reply of too many items");
  if (depth_ == most_depth) return fail("a reply of too many arrays in arrays");
  declared_ += items;
  frames_[depth_++] = {open_.size(), items};
  read.type = Reply::Type::array;
  return at;
}

// ── a whole reply ────────────────────────────────────────────────────────────────────────────────

Reader::Step Reader::next(Reply& reply) try {
  if (broken()) return Step::broken;
  if (at_ == start_) {  // else a reply is under way
    open_.clear();
    closed_.clear();
    depth_ = declared_ = 0;
  }
  for (;;) {
    Reply read;
    const char* const behind = element(buffer_.get() + at_, read);
    if (!behind) break;
    at_ = static_cast<std::size_t>(behind - buffer_.get());
    scanned_ = 0;
    if (read.type != Reply::Type::array) {
      if (depth_ == 0) return take(read, reply);
      open_.push_back(read);
    }
    while (is_full()) {
      if (depth_ == 1) {
        settle();
        return take({.type = Reply::Type::array, .items = open_}, reply);
      }
      close_inner();
    }
  }
  if (!broken() && end_ - start_ >= most_bytes) fail(too_long);
  return broken() ? Step::broken : Step::more;
} catch (const std::bad_alloc&) {
  fail("no memory for a reply");
  return Step::broken;
}

Reader::Step Reader::take(const Reply& whole, Reply& reply) noexcept {
  if (at_ - start_ > most_bytes) fail(too_long);
  if (broken()) return Step::broken;
  start_ = at_;
  reply = whole;
  return Step::reply;
}

bool Reader::is_full() const noexcept {
  const Frame& innermost = frames_[depth_ - 1];
  return open_.size() - innermost.first == innermost.count;
}

// Moves the items of a complete inner array to closed_, so that those of the outer one lie
// together.
void Reader::close_inner() {
  const Frame inner = frames_[--depth_];
  const Block block{static_cast<std::uint32_t>(closed_.size()),
                    static_cast<std::uint32_t>(inner.count)};
  const auto first = open_.begin() + static_cast<std::ptrdiff_t>(inner.first);
  closed_.insert(closed_.end(), first, open_.end());
  open_.erase(first, open_.end());
  open_.push_back({.type = Reply::Type::array, .integer = std::bit_cast<std::int64_t>(block)});
}

void Reader::settle() noexcept {
  if (closed_.empty()) return;
  for (auto* items : {&open_, &closed_}) {
    for (Reply& item : *items) {
      if (item.type != Reply::Type::array) continue;
      const auto block = std::bit_cast<Block>(item.integer);
      item.integer = 0;
      item.items = {closed_.data() + block.first, block.count};
    }
  }
}

}  // namespace holdfast::stores::redis
