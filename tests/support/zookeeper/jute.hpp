// tests/support/zookeeper/jute.hpp: ZooKeeper's serialization. Numbers are big-endian, texts have
// their length in front.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast::support {

class JuteWriter {
 public:
  template <std::integral Number>
  JuteWriter& number(Number value) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t at = sizeof(Number); at-- > 0;)
      bytes_.push_back(static_cast<char>(bits >> (8 * at) & 0xFF));
    return *this;
  }
  JuteWriter& text(std::string_view value) {
    number(static_cast<std::int32_t>(value.size()));
    bytes_.append(value);
    return *this;
  }
  JuteWriter& raw(std::string_view bytes) {
    bytes_.append(bytes);
    return *this;
  }
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

class JuteReader {
 public:
  explicit JuteReader(std::string bytes) : bytes_(std::move(bytes)) {}

  template <std::integral Number>
  Number number() {
    std::uint64_t bits = 0;
    for (const char each : take(sizeof(Number)))
      bits = bits << 8 | static_cast<unsigned char>(each);
    return static_cast<Number>(bits);
  }
  std::string text() {
    const auto size = number<std::int32_t>();
    return size > 0 ? take(static_cast<std::size_t>(size)) : "";  // -1: null
  }

 private:
  std::string take(std::size_t size) {  // throws if there is less
    auto part = bytes_.substr(at_).substr(0, size);
    if (part.size() < size) throw std::out_of_range("the answer is too short");
    at_ += size;
    return part;
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace holdfast::support
