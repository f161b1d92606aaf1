// lab/draw/figure.hpp: a picture before it is drawn: rows, and what lies on them. Knows of time,
// but neither of columns nor of pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/draw/picture.hpp"

namespace holdfast::lab::draw {

enum class Shade : std::uint8_t {  // each lies over those before it
  waits,
  key,  // the store says whose the lock is
  holds,
  doubtful,  // its lease has ended by its own clock, and it has not noticed
  paused,
  down,  // dead, or crashed
};

struct Bar {
  std::size_t row = 0;
  std::int64_t from = 0, to = 0;
  Shade shade{};
  std::int16_t owner = nobody;  // whose colour it has
  std::string text;
};

struct Arrow {
  std::size_t from_row = 0, to_row = 0;
  std::int64_t from = 0, to = 0;
  bool answer = false;
  bool lost = false;
  std::int16_t owner = nobody;
};

enum class Sign : std::uint8_t { accepted, rejected, fault, note };

struct Spot {
  std::size_t row = 0;
  std::int64_t at = 0;
  Sign sign{};
  std::int16_t owner = nobody;
};

// What was said at that moment; many in a row that say the same are one.
struct Label {
  std::size_t row = 0;
  std::int64_t at = 0;
  std::string text;
  std::int16_t owner = nobody;
  unsigned times = 1;
};

struct Row {
  std::string name;
  std::int16_t process = nobody;  // or it is a node's
};

struct Figure {
  std::vector<Row> rows;
  std::vector<Bar> bars;  // by shade
  std::vector<Arrow> arrows;
  std::vector<Spot> spots;
  std::vector<Label> labels;  // by time
  std::int64_t begin = 0, end = 0;
};

Figure figure_of(const Picture& picture);

// Round distances for the marks of a time axis that has room for so many.
std::int64_t tick_of(std::int64_t span, std::int64_t most);

}  // namespace holdfast::lab::draw
