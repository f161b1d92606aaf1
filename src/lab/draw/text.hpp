// lab/draw/text.hpp: text in columns. A column is a character, not a byte.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::lab::draw {

std::size_t columns_of(std::string_view utf8);
std::string cut(std::string utf8, std::size_t most);            // to at most so many columns
std::string wrapped(std::string_view utf8, std::size_t width);  // at spaces; each line ends in \n

}  // namespace holdfast::lab::draw
