// Bytes as people and URLs write them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::core {

// Printable and on one line: control characters, quotes, backslashes and broken UTF-8 as \xNN.
// Longer than `most` bytes is cut and ends in "…".
std::string escaped(std::string_view bytes, std::size_t most = 512);

// As a part of a key or path: all but letters, digits and -._~:@+=,; as %NN.
void append_encoded(std::string& out, std::string_view bytes);

// Two digits a byte, in small letters.
std::string in_hex(std::span<const std::uint8_t> bytes);
// That undone, in letters of any size: false unless `text` is as many bytes as there is room for.
bool read_hex(std::string_view text, std::span<std::uint8_t> bytes) noexcept;

// %NN undone; nothing if a % is not followed by two hex digits.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace holdfast::core
