// lab/draw/draw.hpp: a picture for a terminal, and as a file.
#pragma once

#include <string>

#include "lab/draw/picture.hpp"

namespace holdfast::lab::draw {

struct Style {
  std::size_t width = 100;
  bool colours = false;
  bool utf8 = true;
};

// Bars of who waits and holds, whose the lock is by each node, then step by step what was said, and
// where it goes wrong.
std::string timeline(const Picture& picture, const Style& style);

// The same with arrows for the messages; light or dark as its reader has it.
std::string svg(const Picture& picture);

// One page that needs no other file: explanation (a paragraph a line), picture, every event.
std::string html(const Picture& picture, const std::vector<std::string>& explanation);

}  // namespace holdfast::lab::draw
