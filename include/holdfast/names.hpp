// holdfast/names.hpp: what a lock is called and who may enter it again. Two types that never mix.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

// 1 to 512 bytes of any value, case-sensitive. The length is checked by the first acquire.
class LockName {
 public:
  template <std::convertible_to<std::string_view> S>
  LockName(const S& bytes) : bytes_(std::string_view(bytes)) {}
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

// Handles (acquire…, acquire_async) re-enter for the same Owner only; it is known in this process
// alone. The standard-shaped calls (lock, with_lock, locked) re-enter by thread and need none.
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
