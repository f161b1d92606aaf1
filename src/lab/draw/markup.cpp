#include "lab/draw/markup.hpp"

namespace holdfast::lab::draw {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

std::string element(std::string_view tag, std::initializer_list<Attribute> attributes,
                    std::string_view more) {
  std::string out = "<" + std::string(tag);
  for (const Attribute& attribute : attributes)
    out.append(" ").append(attribute.name).append("=\"").append(attribute.value).append("\"");
  return out.append(more).append("/>\n");
}

}  // namespace holdfast::lab::draw
