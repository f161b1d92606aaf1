#include <algorithm>
#include <array>
#include <utility>

#include "lab/draw/draw.hpp"
#include "lab/draw/figure.hpp"
#include "lab/draw/text.hpp"

namespace holdfast::lab::draw {
namespace {

constexpr int red = 31;
constexpr int faint = 90;
constexpr int plain = 0;

int colour_of(std::int16_t owner) {
  constexpr std::array colours{34, 33, 32, 35, 36};
  return owner == nobody ? plain : colours[static_cast<std::size_t>(owner) % colours.size()];
}

// Spells a text for terminals that know only ASCII.
std::string ascii(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> spellings{
      {{"→", "->"}, {"×", "x"}, {"« ", "< "}, {"·", "."}, {"…", "..."}}};
  for (const auto& [from, to] : spellings)
    for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  return text;
}

class Terminal {
 public:
  Terminal(const Picture& picture, const Style& style)
      : picture_(picture), style_(style), figure_(figure_of(picture)) {
    for (const Row& row : figure_.rows) margin_ = std::max(margin_, columns_of(row.name) + 2);
    margin_ = std::min<std::size_t>(margin_, 14);
    span_ = style.width - margin_;
  }

  std::string draw() {
    headline();
    axis();
    for (std::size_t row = 0; row < figure_.rows.size(); ++row) bars(row);
    band();
    steps();
    legend();
    return std::move(out_);
  }

 private:
  struct Cell {
    std::string glyph = " ";
    int colour = plain;
  };
  using Cells = std::vector<Cell>;

  std::size_t column(std::int64_t at) const {
    const auto last = static_cast<std::int64_t>(span_) - 1;
    const auto length = std::max<std::int64_t>(figure_.end - figure_.begin, 1);
    return static_cast<std::size_t>(
        std::clamp<std::int64_t>((at - figure_.begin) * last / length, 0, last));
  }
  std::string glyph(std::string_view fine, std::string_view coarse) const {
    return std::string(style_.utf8 ? fine : coarse);
  }
  std::string painted(const std::string& text, int colour) const {
    if (!style_.colours || colour == plain || text.empty()) return text;
    return "\x1b[" + std::to_string(colour) + "m" + text + "\x1b[0m";
  }
  void line(const std::string& text, int colour = plain) {
    out_ += painted(cut(style_.utf8 ? text : ascii(text), style_.width), colour) + "\n";
  }

  void wrap(const std::string& text, int colour) {
    std::string lines = wrapped(style_.utf8 ? text : ascii(text), style_.width);
    lines.pop_back();
    out_ += painted(lines, colour) + "\n";
  }

  void headline() {
    wrap(picture_.title, plain);
    wrap(picture_.outcome, picture_.bad() ? red : plain);
    out_ += "\n";
  }
  void axis();
  void bars(std::size_t row);
  void fill(Cells& cells, const Bar& bar) const;
  void put(const std::string& name, const Cells& cells);
  void band();
  void steps();
  void legend();

  const Picture& picture_;
  const Style& style_;
  Figure figure_;
  std::size_t margin_ = 0, span_ = 0;
  std::string out_;
};

void Terminal::axis() {
  std::string text(style_.width, ' ');
  text.replace(0, 2, "ms");
  const auto tick = tick_of(figure_.end - figure_.begin, static_cast<std::int64_t>(span_ / 9));
  for (std::int64_t at = (figure_.begin + tick - 1) / tick * tick; at <= figure_.end; at += tick) {
    const std::string number = milliseconds(at);
    const std::size_t place = margin_ + column(at);
    if (place + number.size() <= style_.width) text.replace(place, number.size(), number);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  line(text, faint);
}

void Terminal::fill(Cells& cells, const Bar& bar) const {
  const std::size_t from = column(bar.from);
  const std::size_t to = std::max(column(bar.to), from + 1);
  std::string body;
  switch (bar.shade) {
    case Shade::waits: body = glyph("·", "."); break;
    case Shade::holds: body = glyph("█", "#"); break;
    case Shade::doubtful: body = glyph("▒", "%"); break;
    case Shade::paused: body = glyph("░", "~"); break;
    case Shade::down: body = " "; break;
    case Shade::key: body = glyph("═", "="); break;
  }
  for (std::size_t at = from; at < std::min(to, cells.size()); ++at)
    cells[at] = {body, colour_of(bar.owner)};
  if (bar.shade == Shade::key && !bar.text.empty())
    cells[from].glyph = bar.text.back();  // A, or the number of a process
}

void Terminal::put(const std::string& name, const Cells& cells) {
  std::string text = cut(style_.utf8 ? name : ascii(name), margin_ - 1);
  text.append(margin_ - columns_of(text), ' ');
  std::size_t last = cells.size();
  while (last > 0 && cells[last - 1].glyph == " ") --last;
  for (std::size_t at = 0; at < last;) {  // one change of colour per run of equal colour
    std::string run;
    const int colour = cells[at].colour;
    for (; at < last && cells[at].colour == colour; ++at) run += cells[at].glyph;
    text += painted(run, colour);
  }
  out_ += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

void Terminal::bars(std::size_t row) {
  Cells cells(span_);
  for (const Bar& bar : figure_.bars)
    if (bar.row == row) fill(cells, bar);
  for (const Spot& spot : figure_.spots) {
    if (spot.row != row) continue;
    Cell& cell = cells[column(spot.at)];
    if (spot.sign == Sign::accepted) cell = {glyph("✓", "+"), colour_of(spot.owner)};
    if (spot.sign == Sign::rejected) cell = {glyph("✗", "x"), red};
    if (spot.sign == Sign::fault) cell = {"!", red};
  }
  put(figure_.rows[row].name, cells);
}

void Terminal::band() {
  Cells cells(span_);
  bool any = false;
  for (const Mark& mark : picture_.marks) {
    if (mark.tone != Tone::bad) continue;
    any = true;
    for (std::size_t at = column(mark.at); at <= column(std::max(mark.at, mark.until)); ++at)
      cells[at] = {glyph("▲", "^"), red};
  }
  if (any) put("", cells);
  out_ += "\n";
}

void Terminal::steps() {
  struct Step {
    std::int64_t at;
    std::string text;
    int colour;
  };
  std::vector<Step> all;
  for (const Label& label : figure_.labels) {
    std::string name = cut(figure_.rows[label.row].name, 12);
    name.append(12 - columns_of(name), ' ');
    all.push_back({label.at,
                   name + label.text +
                       (label.times == 1 ? "" : " (" + std::to_string(label.times) + " times)"),
                   plain});
  }
  for (const Mark& mark : picture_.marks)
    all.push_back({mark.at, (mark.tone == Tone::bad ? "!           " : "            ") + mark.text,
                   mark.tone == Tone::bad ? red : plain});
  std::ranges::stable_sort(all, {}, &Step::at);
  for (const Step& step : all) {
    const std::string time = milliseconds(step.at);
    line(std::string(8 - std::min<std::size_t>(time.size(), 8), ' ') + time + "  " + step.text,
         step.colour);
  }
}

void Terminal::legend() {
  out_ += "\n";
  line(glyph("·", ".") + " waits   " + glyph("█", "#") + " holds   " + glyph("░", "~") +
           " paused   A" + glyph("══", "==") + " is A's   " + glyph("✓", "+") + " accepted   " +
           glyph("✗", "x") + " refused   ! fault   " + glyph("▲", "^") + " it goes wrong",
       faint);
}

}  // namespace

std::string timeline(const Picture& picture, const Style& style) {
  return Terminal(picture, style).draw();
}

}  // namespace holdfast::lab::draw
