// lab/draw/markup.hpp: elements of SVG and HTML, as text.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace holdfast::lab::draw {

struct Attribute {
  Attribute(std::string_view of, int number) : name(of), value(std::to_string(number)) {}
  Attribute(std::string_view of, std::string_view text) : name(of), value(text) {}
  std::string_view name;
  std::string value;
};

std::string escaped(std::string_view text);
// An empty element; `more` holds further attributes as text, with a leading space.
std::string element(std::string_view tag, std::initializer_list<Attribute> attributes,
                    std::string_view more = "");

}  // namespace holdfast::lab::draw
