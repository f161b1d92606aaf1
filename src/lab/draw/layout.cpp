#include "lab/draw/layout.hpp"

#include <algorithm>

#include "lab/draw/text.hpp"

namespace holdfast::lab::draw {
namespace {

constexpr int label_height = 15;
constexpr int mark_height = 18;
constexpr int gap = 16;

int mark_width(std::string_view text) { return static_cast<int>(columns_of(text)) * 75 / 10 + 12; }

// Puts each text into the first lane that has room for it, as near to its moment as the page's edge
// allows.
class Lanes {
 public:
  // Returns the text's left edge and its lane.
  std::pair<int, int> put(int x, int width) {
    x = std::max(Layout::left, std::min(x, Layout::right - width));
    std::size_t lane = 0;
    while (lane < ends_.size() && ends_[lane] > x) ++lane;
    if (lane == ends_.size()) ends_.push_back(0);
    ends_[lane] = x + width;
    return {x, static_cast<int>(lane)};
  }
  int count() const { return static_cast<int>(ends_.size()); }

 private:
  std::vector<int> ends_;
};

}  // namespace

int label_width(std::string_view text) { return static_cast<int>(columns_of(text)) * 67 / 10 + 10; }

std::string shown(const Label& label) {
  return label.times == 1 ? label.text : label.text + " (×" + std::to_string(label.times) + ")";
}

int Layout::x(std::int64_t at) const {
  const std::int64_t shown = std::clamp(at, begin, end) - begin;
  return begin == end ? left : left + static_cast<int>(shown * (right - left) / (end - begin));
}

Layout::Layout(const Figure& figure, const std::vector<Mark>& all_marks)
    : begin(figure.begin), end(figure.end) {
  int y = 68;
  Lanes above;
  for (const Mark& mark : all_marks) {
    const auto [at, lane] = above.put(x(mark.at), mark_width(mark.text));
    marks.push_back({at, y + lane * mark_height});
  }
  axis = y + above.count() * mark_height + 4;
  top = axis + 8;
  y = top + 12;

  labels.resize(figure.labels.size());
  for (std::size_t row = 0; row < figure.rows.size(); ++row) {
    tops.push_back(y);
    Lanes below;
    for (std::size_t i = 0; i < figure.labels.size(); ++i) {
      const Label& label = figure.labels[i];
      if (label.row != row) continue;
      const auto [at, lane] = below.put(x(label.at), label_width(shown(label)));
      labels[i] = {at, y + bar + 12 + lane * label_height};
    }
    y += bar + below.count() * label_height + gap;
  }
  bottom = y;
  legend = bottom + 26;
  height = legend + 18;
}

}  // namespace holdfast::lab::draw
