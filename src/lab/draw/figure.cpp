#include "lab/draw/figure.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "lab/draw/messages.hpp"

namespace holdfast::lab::draw {
namespace {

// Goes through a history once and fills in a figure.
class Drawing {
 public:
  Drawing(const Picture& picture, Figure& figure) : picture_(picture), figure_(figure) {}
  void draw();

 private:
  // A bar that has not ended yet.
  struct Open {
    Bar bar;
    std::int64_t until = 0;  // when it becomes doubtful; 0: never
  };
  using Key = std::tuple<std::size_t, Shade, std::uint64_t>;

  void make_rows();
  std::size_t row_of(const Event& event) const;
  void begin(const Event& event, Shade shade, std::uint64_t of, std::string text = "");
  void end(const Event& event, Shade shade, std::uint64_t of);
  void end_all(const Event& event);
  void close(const Open& open, std::int64_t at);
  void spot(const Event& event, Sign sign);
  void say(const Event& event, std::string text);
  void take(const Event& event);
  void take_fault(const Event& event);
  void take_store(const Event& event);
  void cut_out();

  const Picture& picture_;
  Figure& figure_;
  std::vector<std::int16_t> processes_, nodes_;
  std::map<Key, Open> open_;
  std::map<std::uint64_t, std::int16_t> asker_;  // by op
};

void Drawing::make_rows() {
  const auto note = [](std::vector<std::int16_t>& numbers, std::int16_t number) {
    if (number != nobody && !std::ranges::count(numbers, number)) numbers.push_back(number);
  };
  bool resource = false;
  for (const Event& event : picture_.history.events()) {
    note(processes_, event.process);
    note(nodes_, event.node);
    resource |= event.what == What::write && event.node == nobody;
  }
  std::ranges::sort(processes_);
  std::ranges::sort(nodes_);
  for (const auto number : processes_)
    figure_.rows.push_back({picture_.cast.process(number), number});
  for (const auto number : nodes_) figure_.rows.push_back({picture_.cast.node(number)});
  if (resource) figure_.rows.push_back({"resource"});
}

// An event at a node belongs to the node's row, not to the process's.
std::size_t Drawing::row_of(const Event& event) const {
  const auto place = [](const std::vector<std::int16_t>& numbers, std::int16_t number) {
    return static_cast<std::size_t>(std::ranges::find(numbers, number) - numbers.begin());
  };
  const bool written = event.what == What::accepted || event.what == What::rejected;
  if (event.node != nobody) return processes_.size() + place(nodes_, event.node);
  if (written || event.process == nobody) return figure_.rows.size() - 1;
  return place(processes_, event.process);
}

void Drawing::begin(const Event& event, Shade shade, std::uint64_t of, std::string text) {
  const std::size_t row = row_of(event);
  open_[{row, shade, of}] = {{row, event.at, event.at, shade, event.process, std::move(text)},
                             event.until};
}

void Drawing::end(const Event& event, Shade shade, std::uint64_t of) {
  const auto found = open_.find({row_of(event), shade, of});
  if (found == open_.end()) return;
  close(found->second, event.at);
  open_.erase(found);
}

void Drawing::close(const Open& open, std::int64_t at) {
  Bar bar = open.bar;
  bar.to = at;
  if (bar.shade == Shade::holds && open.until > bar.from && open.until < at) {
    bar.to = open.until;
    figure_.bars.push_back(bar);
    bar = {bar.row, open.until, at, Shade::doubtful, bar.owner, ""};
  }
  figure_.bars.push_back(bar);
}

void Drawing::end_all(const Event& event) {
  const std::size_t row = row_of(event);
  std::erase_if(open_, [&](const auto& entry) {
    if (std::get<0>(entry.first) != row || std::get<1>(entry.first) == Shade::key) return false;
    close(entry.second, event.at);
    return true;
  });
}

void Drawing::spot(const Event& event, Sign sign) {
  figure_.spots.push_back({row_of(event), event.at, sign, event.process});
}

void Drawing::say(const Event& event, std::string text) {
  if (!text.empty()) figure_.labels.push_back({row_of(event), event.at, std::move(text)});
}

void Drawing::take(const Event& event) {
  switch (event.what) {
    case What::ask: asker_[event.op] = event.process; return begin(event, Shade::waits, event.op);
    case What::granted:
      end(event, Shade::waits, event.op);
      return begin(event, Shade::holds, event.op,
                   event.token == 0 ? "holds" : "holds " + std::to_string(event.token));
    case What::refused:
    case What::cancel: return end(event, Shade::waits, event.op);
    case What::lost: say(event, event.note); [[fallthrough]];
    case What::release: return end(event, Shade::holds, event.op);
    case What::accepted: return spot(event, Sign::accepted);
    case What::rejected: return spot(event, Sign::rejected);
    case What::note: return event.process == nobody ? void() : say(event, event.note);
    case What::store_granted:
    case What::store_ended:
    case What::renewed: return take_store(event);
    default: return take_fault(event);
  }
}

void Drawing::take_store(const Event& event) {
  if (event.what == What::renewed) {
    const auto holding = open_.find({row_of(event), Shade::holds, event.op});
    if (holding != open_.end()) holding->second.until = event.until;
    return;
  }
  Event known = event;
  if (known.process == nobody && asker_.contains(known.op)) known.process = asker_[known.op];
  if (event.what == What::store_granted)
    begin(known, Shade::key, known.op,
          known.process == nobody ? "" : picture_.cast.process(known.process));
  else
    end(known, Shade::key, known.op);
}

void Drawing::take_fault(const Event& event) {
  switch (event.what) {
    case What::pause: return begin(event, Shade::paused, 0, "paused");
    case What::resume: return end(event, Shade::paused, 0);
    case What::crash:
      end_all(event);
      spot(event, Sign::fault);
      say(event, event.node == nobody ? "dies" : "crashes");
      return begin(event, Shade::down, 0);
    case What::restart: end(event, Shade::down, 0); [[fallthrough]];
    case What::forget:
    case What::failover:
    case What::jump:
    case What::drift:
      spot(event, Sign::fault);
      return say(event, *event.note ? event.note : std::string(to_string(event.what)));
    default: return;
  }
}

void Drawing::draw() {
  make_rows();
  if (picture_.history.events().empty()) return;
  for (const Event& event : picture_.history.events()) take(event);
  figure_.end = picture_.history.events().back().at;
  for (const auto& [key, open] : open_) close(open, figure_.end);
  add_messages(
      picture_, [this](const Event& event) { return row_of(event); }, figure_);
  std::ranges::stable_sort(figure_.labels, {}, &Label::at);
  std::ranges::stable_sort(figure_.bars, {}, &Bar::shade);
  cut_out();
}

// Keeps only the wanted part.
void Drawing::cut_out() {
  figure_.begin = std::min(std::max<std::int64_t>(picture_.from, 0), figure_.end);
  if (picture_.to != 0) figure_.end = std::clamp(picture_.to, figure_.begin, figure_.end);
  const auto outside = [this](std::int64_t at) { return at < figure_.begin || at > figure_.end; };
  std::erase_if(figure_.bars, [&](Bar& bar) {
    if (bar.to < figure_.begin || bar.from > figure_.end) return true;
    bar.from = std::max(bar.from, figure_.begin);
    bar.to = std::min(bar.to, figure_.end);
    return false;
  });
  std::erase_if(figure_.arrows,
                [&](const Arrow& arrow) { return outside(arrow.from) || outside(arrow.to); });
  std::erase_if(figure_.spots, [&](const Spot& spot) { return outside(spot.at); });
  std::erase_if(figure_.labels, [&](const Label& label) { return outside(label.at); });
}

}  // namespace

Figure figure_of(const Picture& picture) {
  Figure figure;
  Drawing(picture, figure).draw();
  return figure;
}

std::int64_t tick_of(std::int64_t span, std::int64_t most) {
  for (std::int64_t unit = 1'000'000;; unit *= 10)
    for (const std::int64_t step : {1, 2, 5})
      if (span / (unit * step) <= most) return unit * step;
}

std::string Cast::process(std::int16_t number) const {
  const auto place = static_cast<std::size_t>(number);
  return place < processes.size() ? processes[place] : "process " + std::to_string(number);
}

std::string Cast::node(std::int16_t number) const {
  const auto place = static_cast<std::size_t>(number);
  return place < nodes.size() ? nodes[place] : "node " + std::to_string(number);
}

std::string milliseconds(std::int64_t nanoseconds) {
  std::string text = std::to_string(nanoseconds / 1'000'000);
  const auto tenths = nanoseconds / 100'000 % 10;
  return tenths == 0 ? text : text + "." + std::to_string(tenths);
}

}  // namespace holdfast::lab::draw
