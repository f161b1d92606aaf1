#include "cli/text.hpp"

namespace holdfast::cli {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";

struct Symbol {
  std::size_t length = 0;  // 0: not UTF-8
  char32_t code = 0;
};

// The first character of `bytes` in strict UTF-8: no overlong forms, no surrogates.
Symbol first_symbol(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < length) return {};
  char32_t code = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0U) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3fU);
  }
  const char32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {length, code};
}

// Control characters, and characters that reorder or hide text on a terminal.
bool deceives(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

void append_hex(std::string& out, std::string_view mark, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  out.append(mark).push_back(hex_digits[value >> 4]);
  out.push_back(hex_digits[value & 15U]);
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto symbol = first_symbol(text);
    const char lead = text[0];
    if (symbol.length == 0) {
      out += "\xef\xbf\xbd";
    } else if (lead == '"' || lead == '\\') {
      (out += '\\') += lead;
    } else if (symbol.code < 0x20 || symbol.code == 0x7f) {
      append_hex(out, "\\u00", lead);
    } else {
      out.append(text.substr(0, symbol.length));
    }
    text.remove_prefix(symbol.length == 0 ? 1 : symbol.length);
  }
  return out + "\"";
}

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::string escaped(std::string_view bytes, std::size_t most) {
  std::string out;
  while (!bytes.empty()) {
    if (out.size() >= most) return out + "…";
    const auto symbol = first_symbol(bytes);
    const auto length = symbol.length == 0 ? 1 : symbol.length;
    if (symbol.length == 0 || deceives(symbol.code) || bytes[0] == '\\') {
      for (const char byte : bytes.substr(0, length)) append_hex(out, "\\x", byte);
    } else {
      out.append(bytes.substr(0, length));
    }
    bytes.remove_prefix(length);
  }
  return out;
}

std::string percent_encoded(std::string_view bytes, std::string_view keep) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string out;
  for (const char byte : bytes) {
    if (plain.find(byte) != plain.npos || keep.find(byte) != keep.npos)
      out.push_back(byte);
    else
      append_hex(out, "%", byte);
  }
  return out;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return {};
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return {};
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

void JsonObject::key(std::string_view key) {
  if (out_.size() > 1) out_ += ',';
  out_ += json_string(key) + ":";
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
  key(name);
  out_ += json_string(value);
  return *this;
}

JsonObject& JsonObject::bytes(std::string_view name, std::string_view value) {
  return text(name, value).text(std::string(name) + "_encoded", percent_encoded(value));
}

JsonObject& JsonObject::number(std::string_view name, std::int64_t value) {
  key(name);
  out_ += std::to_string(value);
  return *this;
}

JsonObject& JsonObject::number_or_null(std::string_view name, std::optional<std::int64_t> value) {
  key(name);
  out_ += value ? std::to_string(*value) : "null";
  return *this;
}

JsonObject& JsonObject::flag(std::string_view name, bool value) {
  key(name);
  out_ += value ? "true" : "false";
  return *this;
}

JsonObject& JsonObject::array(std::string_view name, std::string_view elements) {
  key(name);
  out_.append("[").append(elements).append("]");
  return *this;
}

}  // namespace holdfast::cli
