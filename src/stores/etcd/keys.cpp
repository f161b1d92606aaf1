#include "stores/etcd/keys.hpp"

#include <algorithm>
#include <charconv>

#include "core/text.hpp"

namespace holdfast::stores::etcd {
namespace {

constexpr std::string_view locks = "holdfast/1/locks/";
constexpr std::string_view cells = "holdfast/1/cells/";
constexpr std::string_view delay_end = ".delay";
constexpr std::string_view layout = "1";
constexpr std::string_view word_live = "live", word_revoked = "revoked";

constexpr std::size_t lease_digits = 16;  // fixed, so that none of our keys is a prefix of another

bool is_lease(std::string_view hex) noexcept {
  return hex.size() == lease_digits && hex.find_first_not_of("0123456789abcdef") == hex.npos;
}

std::string hex(std::int64_t number) {
  char digits[lease_digits];
  const auto end = std::to_chars(digits, std::end(digits), static_cast<std::uint64_t>(number), 16);
  return {digits, end.ptr};
}

std::string_view word(std::string_view& text) noexcept {
  const auto end = std::min(text.find(' '), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

template <class Number>
bool number(std::string_view text, Number& value) noexcept {
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc() && read.ptr == end;
}

constexpr std::pair<Kind, std::string_view> kinds[] = {
    {Kind::mutex, "mutex"}, {Kind::rw, "rw"}, {Kind::semaphore, "semaphore"}};

std::string_view word_of(Kind kind) noexcept {
  return std::ranges::find(kinds, kind, &std::pair<Kind, std::string_view>::first)->second;
}

bool read_kind(std::string_view text, Kind& kind) noexcept {
  const auto found = std::ranges::find(kinds, text, &std::pair<Kind, std::string_view>::second);
  if (found == std::end(kinds)) return false;
  kind = found->first;
  return true;
}

// "1 ab01… mutex 1 1 live HOST …": layout, claim, kind, capacity, weight, state, about.
bool read_claim(std::string_view text, Standing& standing) {
  if (word(text) != layout) return false;
  Shape& shape = standing.shape;
  if (!core::read_hex(word(text), standing.claim) || !read_kind(word(text), shape.kind) ||
      !number(word(text), shape.capacity) || !number(word(text), shape.weight))
    return false;
  standing.revoked = word(text) == word_revoked;
  standing.about = text;
  return shape.weight > 0 && shape.weight <= shape.capacity;
}

bool read_delay(std::string_view text) noexcept {
  Millis::rep length = 0;
  return word(text) == layout && number(word(text), length) && length >= 0;
}

}  // namespace

std::string Layout::all(std::string_view name_prefix) const {
  if (dialect_) return std::string(name_prefix);
  std::string key(locks);
  core::append_encoded(key, name_prefix);
  return key;
}

std::string Layout::prefix(std::string_view name) const { return all(name) += '/'; }

std::string Layout::key(std::string_view prefix, std::int64_t lease) const {
  const std::string digits = hex(lease);
  std::string key(prefix);
  if (!dialect_) key.append(lease_digits - digits.size(), '0');
  return key += digits;
}

// A dialect does not pad the lease's number, so one key may be a prefix of another: no range.
std::string Layout::key_end(std::string_view key) const {
  return dialect_ ? std::string() : end_of(key);
}

std::string Layout::write(const Standing& standing) const {
  if (dialect_) return standing.revoked ? std::string(word_revoked) : std::string();
  std::string text(layout);
  text += ' ' + core::in_hex(standing.claim) + ' ';
  text += word_of(standing.shape.kind);
  text += ' ' + std::to_string(standing.shape.capacity) + ' ' +
          std::to_string(standing.shape.weight) + ' ';
  text += standing.revoked ? word_revoked : word_live;
  text += ' ';
  return text += standing.about;
}

bool Layout::says_revoked(std::string_view value) const {
  if (dialect_) return value == word_revoked;
  Standing standing;
  return read_claim(value, standing) && standing.revoked;
}

std::string Layout::prefix_in(const KeyValue& kv) const {
  const auto slash = kv.key.rfind('/');
  if (slash == kv.key.npos || slash == 0) return {};
  if (dialect_ && (kv.lease == 0 || kv.key.substr(slash + 1) != hex(kv.lease))) return {};
  return kv.key.substr(0, slash + 1);
}

std::optional<std::string> Layout::name_in(std::string_view prefix) const {
  prefix.remove_suffix(1);
  if (dialect_) return std::string(prefix);
  if (!prefix.starts_with(locks)) return std::nullopt;
  return core::percent_decoded(prefix.substr(locks.size()));
}

Row Layout::read(std::string_view prefix, const std::vector<KeyValue>& all) const {
  Row row;
  for (const KeyValue& kv : all)
    if (kv.key.starts_with(prefix)) read(prefix, kv, row);
  std::ranges::sort(row.line, {}, &Standing::created);
  return row;
}

// In a dialect, every key under the prefix is in line, because the other clients count it.
void Layout::read(std::string_view prefix, const KeyValue& kv, Row& row) const {
  Standing standing{
      .key = kv.key, .created = kv.created, .modified = kv.modified, .lease = kv.lease};
  if (dialect_) {
    standing.revoked = says_revoked(kv.value);
    standing.about = "lease " + hex(kv.lease);
    return row.line.push_back(std::move(standing));
  }
  std::string_view last = std::string_view(kv.key).substr(prefix.size());
  const bool of_delay = last.ends_with(delay_end);
  if (of_delay) last.remove_suffix(delay_end.size());
  if (!is_lease(last)) return;
  if (of_delay && kv.lease == 0) return;  // not ours, because nothing would ever end it
  if (of_delay) {
    row.foreign |= !read_delay(kv.value);
    return row.delays.push_back(kv.key.substr(0, prefix.size() + last.size()));
  }
  row.foreign |= !read_claim(kv.value, standing);
  row.line.push_back(std::move(standing));
}

std::optional<std::size_t> Row::place_of(std::string_view key) const noexcept {
  const auto at = std::ranges::find(line, key, &Standing::key);
  if (at == line.end()) return std::nullopt;
  return static_cast<std::size_t>(at - line.begin());
}

bool Row::delayed() const noexcept {
  return std::ranges::any_of(delays, [this](const std::string& key) { return !place_of(key); });
}

std::size_t Row::in() const noexcept {
  return !line.empty() && line.front().shape.whole() && delayed() ? 0 : granted(line);
}

std::string delay_key(std::string_view claim_key) {
  std::string key(claim_key);
  return key += delay_end;
}

std::string write_delay(Millis delay) {
  return std::string(layout) + ' ' + std::to_string(delay.count());
}

std::string cell_key(std::string_view name) {
  std::string key(cells);
  core::append_encoded(key, name);
  return key;
}

// An empty prefix, or one of 0xff only, has an open range, which etcd writes as one zero byte.
std::string end_of(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (end.empty()) return std::string(1, '\0');
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

}  // namespace holdfast::stores::etcd
