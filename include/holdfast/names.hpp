// holdfast/names.hpp: a lock's name, and who may re-enter it. Neither type converts to the other.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

// 1 to 512 bytes of any value, with the URL's prefix; case-sensitive. acquire reports a bad length.
class LockName {
 public:
  template <std::convertible_to<std::string_view> S>
  LockName(const S& bytes) : bytes_(std::string_view(bytes)) {}
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

// Only the same Owner may re-enter a lock that acquire… took. An Owner means nothing to other
// processes. The standard-shaped calls (lock, with_lock, locked) re-enter by thread and need none.
class Owner {
 public:
  static Owner fresh();
  friend auto operator<=>(const Owner&, const Owner&) = default;
  const std::array<std::uint8_t, 16>& bytes() const noexcept { return id_; }

 private:
  Owner() = default;
  std::array<std::uint8_t, 16> id_{};
};

}  // namespace holdfast
