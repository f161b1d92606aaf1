// What a race measures: figures for Race::run().
#pragma once

#include <thread>

#include "peers/race.hpp"

namespace bench {

inline double free_lock(Runner& runner, double seconds) { return runner.peer().pairs(seconds); }

inline double one_process(Runner& runner, double seconds) {
  const Contention had = runner.peer().contended(seconds);
  runner.second.push_back(had.jain);
  return had.handovers;
}

// In microseconds: from the moment when one process begins to give back a lock until another, which
// has waited for `settled`, has it.
class WakeUp {
 public:
  explicit WakeUp(std::chrono::milliseconds settled) : settled_(settled) {}

  double operator()(Runner& runner, double seconds) const {
    std::vector<double> all;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) all.push_back(once(runner.peer(0), runner.peer(1)));
    std::sort(all.begin(), all.end());
    runner.second.push_back(all[all.size() * 9 / 10]);
    return spread_of(all).median;
  }

 private:
  double once(Peer& holder, Peer& waiter) const {
    holder.take();
    waiter.start_take();
    std::this_thread::sleep_for(settled_);
    const double left = holder.give();
    const double woken = waiter.taken();
    waiter.give();
    return (woken - left) / 1e3;
  }

  std::chrono::milliseconds settled_;
};

}  // namespace bench
