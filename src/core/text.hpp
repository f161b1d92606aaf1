// Bytes in the forms that people and URLs use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::core {

// Printable and on one line: control characters, quotes, backslashes and broken UTF-8 become \xNN.
// What is longer than `most` bytes is cut and ends in "…".
std::string escaped(std::string_view bytes, std::size_t most = 512);

// As a part of a key or path: all bytes but letters, digits and -._~:@+=,; become %NN.
void append_encoded(std::string& out, std::string_view bytes);

// Two lower-case digits per byte.
std::string in_hex(std::span<const std::uint8_t> bytes);
// Decodes hex of either case; false unless it is all hex and the sizes match.
bool read_hex(std::string_view text, std::span<std::uint8_t> bytes) noexcept;

// Decodes %NN; nullopt if two hex digits do not follow a %.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace holdfast::core
