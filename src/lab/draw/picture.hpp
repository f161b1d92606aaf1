// lab/draw/picture.hpp: what to draw: a history, the names of those in it, and where it went wrong.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "lab/history.hpp"

namespace holdfast::lab::draw {

// Names by number. Those without a name here are called process 0, process 1 …, node 0 …
struct Cast {
  std::vector<std::string> processes;
  std::vector<std::string> nodes;
  std::string process(std::int16_t number) const;
  std::string node(std::int16_t number) const;
};

enum class Tone : std::uint8_t {
  bad,
  plain,
  good,
};

struct Mark {
  std::int64_t at = 0;
  std::int64_t until = 0;  // 0: a moment
  Tone tone = Tone::bad;
  std::string text;
};

struct Picture {
  bool bad() const {  // something goes wrong in it
    return std::ranges::count(marks, Tone::bad, &Mark::tone) != 0;
  }

  const History& history;
  Cast cast;
  std::string title{};
  std::string outcome{};  // in one line
  std::vector<Mark> marks{};
  std::int64_t from = 0;  // draws only the part from here …
  std::int64_t to = 0;    // … to here; 0: to its end
};

std::string milliseconds(std::int64_t nanoseconds);  // "12", "12.5"

}  // namespace holdfast::lab::draw
