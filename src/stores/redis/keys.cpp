#include "stores/redis/keys.hpp"

#include <array>
#include <optional>
#include <vector>

#include "core/text.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr std::string_view lock_start = "hf:{";
constexpr std::string_view marker_start = "hf:guard";

std::string key_with(std::string_view name, std::string_view end) {
  std::string key;
  key.reserve(lock_start.size() + name.size() + end.size());
  key += lock_start;
  core::append_encoded(key, name);
  return key += end;
}

// CRC16/XMODEM, by which a Cluster assigns keys to slots.
constexpr std::array<std::uint16_t, 256> crc_table = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << 8;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
    table[i] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

std::uint16_t crc16(std::string_view bytes) noexcept {
  unsigned crc = 0;
  for (const char c : bytes)
    crc = (crc << 8 ^ crc_table[(crc >> 8 ^ static_cast<unsigned char>(c)) & 255]) & 0xffff;
  return static_cast<std::uint16_t>(crc);
}

// For each slot, the smallest number whose decimal digits hash into it.
const std::vector<std::uint32_t>& slot_tags() {
  static const std::vector<std::uint32_t> tags = [] {
    std::vector<std::optional<std::uint32_t>> found(slots);
    std::size_t missing = slots;
    for (std::uint32_t tag = 0; missing > 0; ++tag) {
      auto& at = found[slot_of(std::to_string(tag))];
      if (at) continue;
      at = tag;
      --missing;
    }
    std::vector<std::uint32_t> all;
    all.reserve(slots);
    for (const auto& tag : found) all.push_back(*tag);
    return all;
  }();
  return tags;
}

}  // namespace

std::string lock_key(std::string_view name) { return key_with(name, "}"); }
std::string cell_key(std::string_view name) { return key_with(name, "}:c"); }
std::string lock_pattern(std::string_view prefix) { return key_with(prefix, "*}"); }

bool name_of(std::string_view key, std::string& name) {
  if (!key.starts_with(lock_start) || !key.ends_with('}')) return false;
  const std::string_view tag = key.substr(lock_start.size(), key.size() - lock_start.size() - 1);
  auto decoded = core::percent_decoded(tag);
  if (!decoded || lock_key(*decoded) != key) return false;
  name = std::move(*decoded);
  return true;
}

std::uint16_t slot_of(std::string_view key) noexcept {
  const std::size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1)
      key = key.substr(open + 1, close - open - 1);
  }
  return crc16(key) % slots;
}

std::string marker_key() { return std::string(marker_start); }

std::string marker_key(std::uint16_t slot) {
  return std::string(marker_start) + ":{" + std::to_string(slot_tags()[slot % slots]) + "}";
}

}  // namespace holdfast::stores::redis
