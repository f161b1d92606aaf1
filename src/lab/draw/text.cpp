#include "lab/draw/text.hpp"

#include <algorithm>

namespace holdfast::lab::draw {
namespace {

bool is_inside(char c) { return (c & 0xc0) == 0x80; }  // a byte of a character, but not its first

}  // namespace

std::size_t columns_of(std::string_view utf8) {
  return utf8.size() - static_cast<std::size_t>(std::ranges::count_if(utf8, is_inside));
}

std::string cut(std::string utf8, std::size_t most) {
  for (std::size_t columns = columns_of(utf8); columns > most; --columns) {
    while (is_inside(utf8.back())) utf8.pop_back();
    utf8.pop_back();
  }
  return utf8;
}

std::string wrapped(std::string_view utf8, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  while (!utf8.empty()) {
    const auto word = utf8.substr(0, utf8.find(' '));
    utf8.remove_prefix(std::min(word.size() + 1, utf8.size()));
    if (column != 0) {
      const bool fits = column + 1 + columns_of(word) <= width;
      out += fits ? ' ' : '\n';
      column = fits ? column + 1 : 0;
    }
    out += word;
    column += columns_of(word);
  }
  return out + "\n";
}

}  // namespace holdfast::lab::draw
