// What every benchmark shares: rounds, their median and spread, and a table with a line per result.
//
// A figure on its own says little, because the machine, its load and its disk decide it. So each
// program measures holdfast and something bare in turn, in one run, and compares round by round.
//
//   PROGRAM FOLDER BUILD      an empty folder on a disk, and the one where `holdfast` was built
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

template <class Work>
double seconds_of(Work&& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;
};

inline Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

// Round by round: our figure, the one beside it, and how they compare.
struct Rounds {
  std::vector<double> ours;
  std::vector<double> beside;
  std::vector<double> compared;
};

// The side that goes first changes from round to round. The first round only warms up.
template <class Ours, class Beside, class Compare>
Rounds in_turn(int rounds, Ours&& ours, Beside&& beside, Compare&& compare) {
  Rounds result;
  for (int round = 0; round <= rounds; ++round) {
    double mine = 0;
    double other = 0;
    if (round % 2) mine = ours();
    other = beside();
    if (round % 2 == 0) mine = ours();
    if (round == 0) continue;
    result.ours.push_back(mine);
    result.beside.push_back(other);
    result.compared.push_back(compare(mine, other));
  }
  return result;
}

// ── the table ────────────────────────────────────────────────────────────────────────────────────

inline std::string shown(double value, std::string_view unit) {
  char text[64];
  const int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return unit.empty() ? text : std::string(text).append(" ").append(unit);
}

struct Goal {
  enum class Side { at_most, at_least, none } side = Side::none;
  double limit = 0;

  std::string text(std::string_view unit) const {
    if (side == Side::none) return "-";
    char number[32];
    std::snprintf(number, sizeof number, "%g", limit);
    std::string text = side == Side::at_most ? "at most " : "at least ";
    text += number;
    return unit.empty() ? text : text.append(" ").append(unit);
  }
  std::string verdict(double measured) const {
    if (side == Side::none) return "-";
    const bool met = side == Side::at_most ? measured <= limit : measured >= limit;
    if (met) return "met";
    const double by = std::abs(measured - limit);
    return "MISSED BY " + (limit == 0 ? shown(by, "") : shown(by / limit * 100, "%"));
  }
};

// The goal judges `measured`; its unit may be "x" for a ratio.
struct Line {
  std::string what;
  std::string ours;
  std::string beside = "-";
  Spread measured{};
  std::string unit = "x";
  Goal goal{};
};

inline void print(const Line& line) {
  std::string measured = shown(line.measured.median, line.unit);
  if (line.measured.least != line.measured.most)
    measured += " (" + shown(line.measured.least, "to") + " " + shown(line.measured.most, "") + ")";
  std::printf("%s\t%s\t%s\t%s\t%s\t%s\n", line.what.c_str(), line.ours.c_str(), line.beside.c_str(),
              measured.c_str(), line.goal.text(line.unit).c_str(),
              line.goal.verdict(line.measured.median).c_str());
}

// For what could not be measured here.
inline void print_missing(const std::string& what, const std::string& why) {
  std::printf("%s\t-\t%s\t-\t-\t-\n", what.c_str(), why.c_str());
}

// ── programs ─────────────────────────────────────────────────────────────────────────────────────

struct Place {
  std::string folder;
  std::string build;
};

// The body of main().
template <class Body>
int run(int count, char** arguments, Body&& body) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s FOLDER BUILD (see bench/run)\n", arguments[0]);
    return 64;
  }
  try {
    body(Place{arguments[1], arguments[2]});
    return 0;
  } catch (const std::exception& trouble) {
    std::fprintf(stderr, "%s: %s\n", arguments[0], trouble.what());
    return 1;
  }
}

}  // namespace bench
