// lab/draw/layout.hpp: where things lie on the page, in whole pixels. Labels are put into lanes, so
// that none covers another.
#pragma once

#include "lab/draw/figure.hpp"

namespace holdfast::lab::draw {

struct Place {
  int x = 0, y = 0;  // of a text: its baseline
};

struct Layout {
  static constexpr int width = 1000;
  static constexpr int left = 104;   // of the plot
  static constexpr int right = 980;  // of the plot
  static constexpr int bar = 18;     // height of a bar

  Layout(const Figure& figure, const std::vector<Mark>& marks);

  int x(std::int64_t at) const;
  int middle(std::size_t row) const { return tops[row] + bar / 2; }

  std::int64_t begin, end;
  std::vector<int> tops;      // of each row's bar
  std::vector<Place> labels;  // one for each of the figure's labels
  std::vector<Place> marks;   // one for each mark
  int axis = 0;               // the baseline of its numbers
  int top = 0, bottom = 0;    // of the plot
  int legend = 0;             // its baseline
  int height = 0;
};

int label_width(std::string_view text);  // in the labels' monospaced font
std::string shown(const Label& label);

}  // namespace holdfast::lab::draw
