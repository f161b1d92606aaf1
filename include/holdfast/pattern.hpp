// holdfast/pattern.hpp: "stock/{}", filled with the arguments of a locked function.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast {

// The compiler checks it: braces only as "{}", and at least one of these.
class NamePattern {
 public:
  template <std::size_t N>
  consteval NamePattern(const char (&text)[N]) : text_(text, N - 1) {
    for (std::size_t i = 0; i + 1 < N; ++i) {
      if (text[i] == '{' && text[i + 1] == '}') {
        ++holes_;
        ++i;
      } else if (text[i] == '{' || text[i] == '}') {
        throw "a name pattern has braces only as {}";
      }
    }
    if (holes_ == 0) throw "a name pattern needs at least one {}";
  }

  std::size_t holes() const noexcept { return holes_; }

  // Fills the holes in order. Arguments beyond the last hole are not part of the name.
  template <class... Args>
  std::string fill(const Args&... args) const {
    std::string name;
    std::string_view rest = text_;
    (put(name, rest, args), ...);
    return name.append(rest);
  }

 private:
  template <class Arg>
  static void put(std::string& name, std::string_view& rest, const Arg& arg) {
    const auto hole = rest.find("{}");
    if (hole == std::string_view::npos) return;
    name.append(rest.substr(0, hole));
    rest.remove_prefix(hole + 2);
    if constexpr (std::convertible_to<const Arg&, std::string_view>) {
      name.append(std::string_view(arg));
    } else {
      static_assert(std::integral<Arg>, "a locked function is named by integers and texts");
      char digits[24];
      const auto end = std::to_chars(digits, digits + sizeof digits, arg).ptr;
      name.append(digits, end);
    }
  }

  std::string_view text_;
  std::size_t holes_ = 0;
};

}  // namespace holdfast
