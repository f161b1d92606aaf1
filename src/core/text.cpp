#include "core/text.hpp"

#include <charconv>

namespace holdfast::core {
namespace {

constexpr char small_digits[] = "0123456789abcdef";
constexpr char large_digits[] = "0123456789ABCDEF";

void append_hex(std::string& out, std::uint8_t byte, const char* digits) {
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

// The length of the well-formed, printable UTF-8 sequence at the start of `rest`; 0 if there is
// none.
std::size_t printable(std::string_view rest) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f && first != '\\' && first != '"' ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || rest.size() < length) return 0;
  std::uint32_t point = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    point = point << 6 | (at(i) & 0x3fU);
  }
  const std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  const bool control = point < 0xa0 || point == 0x2028 || point == 0x2029;
  // A character that turns the direction of text would let a name disguise the rest of its line.
  const bool turns = (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
  if (point < least[length] || point > 0x10ffff || surrogate || control || turns) return 0;
  return length;
}

constexpr bool is_plain(unsigned char c) {
  if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("-._~:@+=,;").find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace

std::string escaped(std::string_view bytes, std::size_t most) {
  std::string out;
  while (!bytes.empty()) {
    if (out.size() >= most) return out + "…";
    const std::size_t length = printable(bytes);
    if (length == 0) {
      append_hex(out += "\\x", static_cast<std::uint8_t>(bytes[0]), small_digits);
      bytes.remove_prefix(1);
    } else {
      out.append(bytes.substr(0, length));
      bytes.remove_prefix(length);
    }
  }
  return out;
}

void append_encoded(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (is_plain(byte))
      out += c;
    else
      append_hex(out += '%', byte, large_digits);
  }
}

std::string in_hex(std::span<const std::uint8_t> bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) append_hex(out, byte, small_digits);
  return out;
}

bool read_hex(std::string_view text, std::span<std::uint8_t> bytes) noexcept {
  if (text.size() != 2 * bytes.size()) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* const pair = text.data() + 2 * i;
    if (std::from_chars(pair, pair + 2, bytes[i], 16).ptr != pair + 2) return false;
  }
  return true;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    std::uint8_t byte = 0;
    if (!read_hex(text.substr(i + 1, 2), {&byte, 1})) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

}  // namespace holdfast::core
