// lab/draw/draw.hpp: draws a picture for a terminal or into a file.
#pragma once

#include <string>

#include "lab/draw/picture.hpp"

namespace holdfast::lab::draw {

struct Style {
  std::size_t width = 100;
  bool colours = false;
  bool utf8 = true;
};

// Bars show who waits, who holds, and whom each node takes for the holder. Then come the messages,
// step by step, and where it goes wrong.
std::string timeline(const Picture& picture, const Style& style);

// The same with arrows for the messages; light or dark, as the reader's browser prefers.
std::string svg(const Picture& picture);

// One self-contained page: explanation (one paragraph per line), picture, every event.
std::string html(const Picture& picture, const std::vector<std::string>& explanation);

}  // namespace holdfast::lab::draw
