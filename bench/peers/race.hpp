// A race: our lock and other libraries' locks, measured in turn on one server.
#pragma once

#include <memory>

#include "options.hpp"
#include "peers/peer.hpp"
#include "sides.hpp"

namespace bench {

struct Entrant {
  std::string name;
  Peer::Command command;
  bool fetched = true;    // so it may be unavailable
  bool warms_up = false;  // a virtual machine: at its best after half a minute
};

class Runner {
 public:
  Runner(const Entrant& entrant, std::size_t processes)
      : side{entrant.name, {}}, warms_up_(entrant.warms_up) {
    for (std::size_t i = 0; i < processes; ++i)
      peers_.push_back(std::make_unique<Peer>(entrant.command));
  }
  bool ready() {
    return std::ranges::all_of(peers_, [](const auto& peer) { return peer->ready(); });
  }
  bool warms_up() const { return warms_up_; }
  Peer& peer(std::size_t number = 0) { return *peers_.at(number); }

  Side side;
  std::vector<double> second{};  // a second figure of each round, if there is one

 private:
  bool warms_up_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

class Race {
 public:
  Race(const Options& options, const std::vector<Entrant>& entrants, std::size_t processes = 1)
      : only_(options.only), span_(options.seconds.value_or(2)) {
    for (const Entrant& entrant : entrants) {
      if (!only_.empty() && entrant.name != only_) continue;
      auto runner = std::make_unique<Runner>(entrant, processes);
      if (runner->ready())
        runners_.push_back(std::move(runner));
      else if (!entrant.fetched)
        throw std::runtime_error(entrant.name + " did not start");
      else
        print_missing(entrant.name, "could not be had, so it is not measured");
    }
  }

  // figure(runner, seconds) measures the runner for that long.
  template <class Figure>
  void run(Figure&& figure) {
    constexpr int rounds = 5;
    constexpr double spans_of_warm_up = 12.5;
    std::vector<Side*> sides;
    for (const auto& runner : runners_) {
      if (runner->warms_up()) figure(*runner, span_ * spans_of_warm_up);
      runner->side.measure = [&] { return figure(*runner, span_); };
      sides.push_back(&runner->side);
    }
    in_rotation(rounds, only_, sides);
  }

  // Prints nothing if one of the two is missing.
  void compare(const std::string& what, const std::string& ours, const std::string& other,
               std::string_view unit, const Goal& goal = {}) const {
    const Runner* const left = find(ours);
    const Runner* const right = find(other);
    if (left && right) print_ratio(what + " / " + other, left->side, right->side, unit, goal);
  }
  // The second figure alone.
  void show(const std::string& what, const std::string& name, const std::string& unit,
            const Goal& goal = {}) const {
    if (const Runner* const runner = find(name)) print_figure(what, runner->second, unit, goal);
  }

 private:
  const Runner* find(const std::string& name) const {
    const auto found = std::ranges::find(
        runners_, name, [](const auto& runner) -> const std::string& { return runner->side.name; });
    return found == runners_.end() ? nullptr : found->get();
  }

  std::string only_;
  double span_;
  std::vector<std::unique_ptr<Runner>> runners_;
};

}  // namespace bench
