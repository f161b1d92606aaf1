// Several sides of one comparison, measured in turn in one run.
#pragma once

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "measure.hpp"

namespace bench {

struct Side {
  std::string name;  // selects it to be measured alone
  std::function<double()> measure;
  std::vector<double> figures{};  // one per round

  double median() const { return spread_of(figures).median; }
};

// The side that goes first changes from round to round. The first round only warms up. `only` names
// the one side to measure, for a profiler; empty: all.
inline void in_rotation(int rounds, std::string_view only, std::vector<Side*> sides) {
  if (!only.empty()) std::erase_if(sides, [&](const Side* side) { return side->name != only; });
  if (sides.empty()) throw std::runtime_error("there is no side " + std::string(only));
  for (int round = 0; round <= rounds; ++round) {
    for (Side* side : sides) {
      const double figure = side->measure();
      if (round > 0) side->figures.push_back(figure);
    }
    std::rotate(sides.begin(), sides.begin() + 1, sides.end());
  }
  if (only.empty()) return;
  const Spread alone = spread_of(sides.front()->figures);
  print({.what = std::string(only) + " alone",
         .ours = shown(alone.median, ""),
         .measured = alone,
         .unit = ""});
}

// Prints nothing if one side was left out.
inline void print_ratio(const std::string& what, const Side& ours, const Side& beside,
                        std::string_view unit, const Goal& goal = {}) {
  if (ours.figures.empty() || beside.figures.empty()) return;
  std::vector<double> ratios;
  for (std::size_t round = 0; round < ours.figures.size(); ++round)
    ratios.push_back(ours.figures[round] / beside.figures[round]);
  print({.what = what,
         .ours = shown(ours.median(), unit),
         .beside = shown(beside.median(), unit),
         .measured = spread_of(std::move(ratios)),
         .goal = goal});
}

// For a figure that is judged on its own, whatever is beside it.
inline void print_figure(const std::string& what, const std::vector<double>& figures,
                         const std::string& unit, const Goal& goal = {},
                         const std::string& beside = "-") {
  if (figures.empty()) return;
  const Spread spread = spread_of(figures);
  print({.what = what,
         .ours = shown(spread.median, unit),
         .beside = beside,
         .measured = spread,
         .unit = unit,
         .goal = goal});
}

}  // namespace bench
