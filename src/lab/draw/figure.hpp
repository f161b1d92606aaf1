// lab/draw/figure.hpp: a picture before it is drawn: rows, and what lies on them. It is measured in
// time, not in columns or pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/draw/picture.hpp"

namespace holdfast::lab::draw {

enum class Shade : std::uint8_t {  // each covers those before it
  waits,
  key,  // the holder in the store's view
  holds,
  doubtful,  // its lease has ended by its own clock, and it has not noticed
  paused,
  down,  // dead, or crashed
};

struct Bar {
  std::size_t row = 0;
  std::int64_t from = 0, to = 0;
  Shade shade{};
  std::int16_t owner = nobody;  // the process whose colour it has
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

// A message at that moment; equal messages in a row are one label.
struct Label {
  std::size_t row = 0;
  std::int64_t at = 0;
  std::string text;
  std::int16_t owner = nobody;
  unsigned times = 1;
};

struct Row {
  std::string name;
  std::int16_t process = nobody;  // nobody: a node's row
};

struct Figure {
  std::vector<Row> rows;
  std::vector<Bar> bars;  // sorted by shade
  std::vector<Arrow> arrows;
  std::vector<Spot> spots;
  std::vector<Label> labels;  // sorted by time
  std::int64_t begin = 0, end = 0;
};

Figure figure_of(const Picture& picture);

// A round distance between marks on a time axis with room for `most` of them.
std::int64_t tick_of(std::int64_t span, std::int64_t most);

}  // namespace holdfast::lab::draw
