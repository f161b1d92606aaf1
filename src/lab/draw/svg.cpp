#include <algorithm>

#include "lab/draw/draw.hpp"
#include "lab/draw/layout.hpp"
#include "lab/draw/markup.hpp"
#include "lab/draw/svg_style.hpp"

namespace holdfast::lab::draw {
namespace {

std::string colour(std::int16_t owner) {
  return "c" + std::to_string(owner == nobody ? colours : owner % colours);
}

std::string tone_of(const Mark& mark) {
  if (mark.tone == Tone::plain) return "over strong";
  return mark.tone == Tone::bad ? "over bad" : "over good";
}

class Svg {
 public:
  explicit Svg(const Picture& picture)
      : picture_(picture), figure_(figure_of(picture)), at_(figure_, picture.marks) {}

  std::string draw();

 private:
  void head();
  void marks_below();
  void axis();
  void arrows();
  void losses();
  void rows();
  void bar(const Bar& bar);
  void spot(const Spot& spot);
  void labels();
  void marks_above();
  void legend();

  void rect(int x, int y, int wide, int high, const std::string& look, const char* more = "");
  void line(int x1, int y1, int x2, int y2, const std::string& look, const std::string& more = "");
  void path(const std::string& steps, const std::string& look);
  void text(int x, int y, const std::string& look, std::string_view words, const char* more = "");
  void sign(Sign sign, int x, int y, std::int16_t owner);

  const Picture& picture_;
  Figure figure_;
  Layout at_;
  std::string out_;
};

// ── pens ────────────────────────────────────────────────────────────────────────────────────────

void Svg::rect(int x, int y, int wide, int high, const std::string& look, const char* more) {
  out_ += element("rect", {{"class", look}, {"x", x}, {"y", y}, {"width", wide}, {"height", high}},
                  more);
}

void Svg::line(int x1, int y1, int x2, int y2, const std::string& look, const std::string& more) {
  out_ += element("line", {{"class", look}, {"x1", x1}, {"y1", y1}, {"x2", x2}, {"y2", y2}}, more);
}

void Svg::path(const std::string& steps, const std::string& look) {
  out_ += element("path", {{"class", look}, {"d", steps}});
}

void Svg::text(int x, int y, const std::string& look, std::string_view words, const char* more) {
  out_ += "<text class=\"" + look + "\" x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) +
          "\"" + more + ">" + escaped(words) + "</text>\n";
}

// A tick or a cross in a disc, or a diamond.
void Svg::sign(Sign sign, int x, int y, std::int16_t owner) {
  const std::string start = "M" + std::to_string(x) + " " + std::to_string(y);
  if (sign == Sign::fault) return path(start + "m0 -7l5 7l-5 7l-5 -7z", "fault");
  const bool yes = sign == Sign::accepted;
  out_ += element("circle",
                  {{"class", yes ? colour(owner) : "refused"}, {"cx", x}, {"cy", y}, {"r", 8}});
  path(start + (yes ? "m-4 0l3 3l5 -6" : "m-3 -3l6 6m0 -6l-6 6"), "sign");
}

// ── the page, from the lowest layer to the highest ──────────────────────────────────────────────

void Svg::head() {
  const std::string wide = std::to_string(Layout::width);
  const std::string high = std::to_string(at_.height);
  out_ += "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + wide + "\" height=\"" + high +
          "\" viewBox=\"0 0 " + wide + " " + high + "\" role=\"img\">\n<title>" +
          escaped(picture_.title) + "</title>\n" + std::string(svg_style) + "<defs>\n";
  for (int number = 0; number <= colours; ++number)
    out_ += "<marker id=\"a" + std::to_string(number) +
            "\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" "
            "orient=\"auto\"><path class=\"c" +
            std::to_string(number) + "\" d=\"M0 1L7 4L0 7z\"/></marker>\n";
  out_ +=
      "<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><rect class=\"base\" width=\"6\" height=\"6\"/>"
      "<line class=\"hatch\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\"/></pattern>\n</defs>\n";
  rect(0, 0, Layout::width, at_.height, "page");
  text(16, 26, "title", picture_.title);
  text(16, 46, picture_.bad() ? "bad" : "good", picture_.outcome);
}

void Svg::marks_below() {
  for (const Mark& mark : picture_.marks) {
    const int from = at_.x(mark.at);
    if (mark.until > mark.at)
      rect(from, at_.top, std::max(at_.x(mark.until) - from, 2), at_.bottom - at_.top,
           mark.tone == Tone::bad ? "badband" : "band");
  }
}

void Svg::axis() {
  const auto tick = tick_of(figure_.end - figure_.begin, 10);
  const auto first = (figure_.begin + tick - 1) / tick * tick;
  for (std::int64_t at = first; at <= figure_.end; at += tick) {
    line(at_.x(at), at_.top, at_.x(at), at_.bottom, "grid");
    const bool last = at_.x(at) > Layout::right - 20;
    text(at_.x(at), at_.axis, "faint", milliseconds(at) + (at == first ? " ms" : ""),
         at == first ? ""
         : last      ? " text-anchor=\"end\""
                     : " text-anchor=\"middle\"");
  }
}

void Svg::arrows() {
  for (const Arrow& arrow : figure_.arrows) {
    const bool down = arrow.to_row > arrow.from_row;
    const int half = Layout::bar / 2;
    const int from = at_.middle(arrow.from_row) + (down ? half : -half);
    const int to = at_.middle(arrow.to_row) + (down ? -half : half);
    const int x2 = at_.x(arrow.to);
    const std::string own = colour(arrow.owner);
    line(at_.x(arrow.from), from, x2, to, own + " arrow" + (arrow.answer ? " answer" : ""),
         arrow.lost ? "" : " marker-end=\"url(#a" + own.substr(1) + ")\"");
  }
}

void Svg::losses() {
  for (const Arrow& arrow : figure_.arrows)
    if (arrow.lost)
      path("M" + std::to_string(at_.x(arrow.to)) + " " + std::to_string(at_.middle(arrow.to_row)) +
               "m-4 -13l8 8m0 -8l-8 8",
           "cross");
}

void Svg::rows() {
  for (std::size_t row = 0; row < figure_.rows.size(); ++row) {
    line(Layout::left, at_.middle(row), Layout::right, at_.middle(row), "rest");
    text(16, at_.middle(row) + 5, "name", figure_.rows[row].name);
  }
  for (const Bar& one : figure_.bars) bar(one);
  for (const Spot& one : figure_.spots) spot(one);
}

void Svg::bar(const Bar& bar) {
  const int x = at_.x(bar.from);
  const int wide = std::max(at_.x(bar.to) - x, 2);
  const int y = at_.tops[bar.row];
  const std::string own = colour(bar.owner);
  const char* const round = " rx=\"3\"";
  if (bar.shade == Shade::down) {  // covers what a crashed node knows; a dead process has no bar
    if (figure_.rows[bar.row].process == nobody) rect(x, y - 1, wide, Layout::bar + 2, "base gone");
    return;
  }
  if (bar.shade == Shade::waits) return rect(x, y + 7, wide, 4, own + " wait");
  if (bar.shade == Shade::paused) rect(x, y, wide, Layout::bar, own + " pause", round);
  if (bar.shade == Shade::holds) rect(x, y, wide, Layout::bar, own, round);
  if (bar.shade == Shade::doubtful) rect(x, y, wide, Layout::bar, own + " doubt", round);
  if (bar.shade == Shade::key) {
    rect(x, y, wide, Layout::bar, "base", round);
    rect(x, y, wide, Layout::bar, own + " soft", round);
  }
  if (label_width(bar.text) > wide) return;
  const char* look = bar.shade == Shade::key ? "key" : bar.shade == Shade::holds ? "on" : "over";
  text(x + 6, y + 13, look, bar.text);
}

void Svg::spot(const Spot& spot) {
  const int x = at_.x(spot.at);
  const int y = at_.middle(spot.row);
  sign(spot.sign, x, y, spot.owner);
}

void Svg::labels() {
  for (std::size_t i = 0; i < figure_.labels.size(); ++i)
    text(at_.labels[i].x + 3, at_.labels[i].y, "label", shown(figure_.labels[i]));
}

void Svg::marks_above() {
  for (std::size_t i = 0; i < picture_.marks.size(); ++i) {
    const Mark& mark = picture_.marks[i];
    line(at_.x(mark.at), at_.marks[i].y + 4, at_.x(mark.at), at_.bottom,
         mark.tone == Tone::bad ? "badline" : "line");
  }
  for (std::size_t i = 0; i < picture_.marks.size(); ++i)
    text(at_.marks[i].x + 4, at_.marks[i].y, tone_of(picture_.marks[i]), picture_.marks[i].text);
}

void Svg::legend() {
  int x = Layout::left;
  const int y = at_.legend;
  const auto name = [&](int sample, const char* words) {
    text(x + sample + 6, y, "faint", words);
    x += sample + 6 + static_cast<int>(std::string_view(words).size()) * 6 + 18;
  };
  rect(x, y - 6, 24, 4, "c5 wait");
  name(24, "waits");
  rect(x, y - 12, 24, 14, "c5", " rx=\"3\"");
  name(24, "holds");
  rect(x, y - 12, 24, 14, "c5 pause", " rx=\"3\"");
  name(24, "paused");
  rect(x, y - 12, 24, 14, "c5 soft", " rx=\"3\"");
  name(24, "whose the lock is");
  line(x, y - 4, x + 24, y - 4, "c5 arrow", " marker-end=\"url(#a5)\"");
  name(24, "question");
  line(x, y - 4, x + 24, y - 4, "c5 arrow answer", " marker-end=\"url(#a5)\"");
  name(24, "answer");
  sign(Sign::accepted, x + 8, y - 4, nobody);
  name(16, "write accepted");
  sign(Sign::rejected, x + 8, y - 4, nobody);
  name(16, "refused");
  sign(Sign::fault, x + 6, y - 4, nobody);
  name(12, "fault");
}

std::string Svg::draw() {
  head();
  marks_below();
  axis();
  arrows();
  rows();
  losses();
  marks_above();
  labels();
  legend();
  return std::move(out_) + "</svg>\n";
}

}  // namespace

std::string svg(const Picture& picture) { return Svg(picture).draw(); }

}  // namespace holdfast::lab::draw
