#include "lab/draw/messages.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <tuple>

namespace holdfast::lab::draw {
namespace {

struct Said {
  std::string words;
  unsigned times = 1;
};

struct Question {
  Event first;  // the first of those sent at the same time
  std::vector<Said> answers{};
  bool push = false;
};

std::string counted(const std::string& text, unsigned times) {
  return times == 1 ? text : text + " ×" + std::to_string(times);
}

std::string with_number(const Event& event) {
  std::string text = event.note;
  if (event.token != 0) text += (text.empty() ? "" : " ") + std::to_string(event.token);
  return text;
}

std::string text_of(const Question& question) {
  if (question.push && *question.first.note) return "« " + with_number(question.first);
  std::string answers;
  for (const Said& said : question.answers)
    answers += (answers.empty() ? " → " : ", ") + counted(said.words, said.times);
  return with_number(question.first) + answers;
}

class Wire {
 public:
  Wire(const RowOf& row_of, Figure& figure) : row_of_(row_of), figure_(figure) {}

  void take(const Event& event) {
    if (event.what == What::sent) sent(event);
    if (event.what == What::arrived || event.what == What::vanished) arrived(event);
  }

  // Equal messages in a row, with nothing else between them, become one label with a count.
  void label() {
    std::map<std::size_t, std::size_t> last;  // index in labels, by row
    for (const Question& question : questions_) {
      Event asker = question.first;
      asker.node = nobody;
      const std::size_t row = row_of_(asker);
      const std::string text = text_of(question);
      if (text.empty()) continue;
      const auto found = last.find(row);
      if (found != last.end() && figure_.labels[found->second].text == text) {
        ++figure_.labels[found->second].times;
        continue;
      }
      last[row] = figure_.labels.size();
      figure_.labels.push_back({row, question.first.at, text, question.first.process});
    }
  }

 private:
  using Route = std::tuple<std::int16_t, std::int16_t, bool, std::uint64_t>;
  using Call = std::tuple<std::int16_t, std::int16_t, std::uint64_t>;
  static Route route_of(const Event& event) {
    return {event.process, event.node, event.flag, event.op};
  }

  void sent(const Event& event) {
    on_the_way_[route_of(event)].push_back(event);
    if (event.flag)
      answer(event);
    else
      ask(event);
  }

  void ask(const Event& event) {
    const bool together = !questions_.empty() && !questions_.back().push &&
                          questions_.back().first.at == event.at &&
                          questions_.back().first.process == event.process &&
                          std::string_view(questions_.back().first.note) == event.note;
    if (!together) questions_.push_back({event});
    asked_[{event.process, event.node, event.op}].push_back(questions_.size() - 1);
  }

  void answer(const Event& event) {
    auto& waiting = asked_[{event.process, event.node, event.op}];
    if (waiting.empty()) {
      questions_.push_back({event, {}, true});
      return;
    }
    note_answer(waiting, with_number(event));
  }

  void note_answer(std::deque<std::size_t>& waiting, const std::string& words) {
    auto& answers = questions_[waiting.front()].answers;
    waiting.pop_front();
    if (words.empty()) return;
    const auto same = std::ranges::find(answers, words, &Said::words);
    if (same != answers.end())
      ++same->times;
    else
      answers.push_back({words});
  }

  void arrived(const Event& event) {
    auto& way = on_the_way_[route_of(event)];
    if (way.empty()) return;
    const Event sent = way.front();
    way.pop_front();
    auto& waiting = asked_[{event.process, event.node, event.op}];
    if (event.what == What::vanished && !waiting.empty()) note_answer(waiting, "no answer");
    Event process = sent;
    process.node = nobody;
    Arrow arrow{row_of_(process), row_of_(sent), sent.at,
                event.at,         event.flag,    event.what == What::vanished,
                event.process};
    if (event.flag) std::swap(arrow.from_row, arrow.to_row);
    figure_.arrows.push_back(arrow);
  }

  const RowOf& row_of_;
  Figure& figure_;
  std::map<Route, std::deque<Event>> on_the_way_;
  std::map<Call, std::deque<std::size_t>> asked_;
  std::vector<Question> questions_;
};

}  // namespace

void add_messages(const Picture& picture, const RowOf& row_of, Figure& figure) {
  Wire wire(row_of, figure);
  for (const Event& event : picture.history.events()) wire.take(event);
  wire.label();
}

}  // namespace holdfast::lab::draw
