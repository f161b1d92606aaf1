// Sixteen threads that all want one lock, all the time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <latch>
#include <stdexcept>
#include <thread>

#include "measure.hpp"

namespace bench {

constexpr std::size_t contenders = 16;

struct Contention {
  double handovers = 0;  // a second: changes of owner, for taking it again oneself is none
  double jain = 0;       // 1: all had it equally often; 1/16: one had it always
};

inline double jain_index(const std::array<std::uint64_t, contenders>& turns) {
  double sum = 0;
  double squares = 0;
  for (const std::uint64_t each : turns) {
    sum += static_cast<double>(each);
    squares += static_cast<double>(each) * static_cast<double>(each);
  }
  return squares > 0 ? sum * sum / (contenders * squares) : 0;
}

// hold(me, work) calls work() while thread number `me` has the lock. It counts once all are there:
// whoever is alone takes a free lock again and again, which is no handover.
template <class Hold>
Contention contend(std::chrono::milliseconds span, Hold&& hold) {
  enum class Phase { gathering, counting, over };
  std::atomic<Phase> phase{Phase::gathering};
  std::latch gathered(contenders);
  // Guarded by the lock under test alone, so that a broken one shows.
  std::size_t owner = contenders;
  std::uint64_t changes = 0;
  std::uint64_t total = 0;
  std::array<std::uint64_t, contenders> turns{};

  std::array<std::jthread, contenders> threads;
  for (std::size_t me = 0; me < contenders; ++me)
    threads[me] = std::jthread([&, me] {
      std::uint64_t mine = 0;
      hold(me, [&] { gathered.count_down(); });
      while (phase.load(std::memory_order_relaxed) != Phase::over)
        hold(me, [&] {
          if (phase.load(std::memory_order_relaxed) != Phase::counting) return;
          changes += owner != me;
          owner = me;
          ++total;
          ++mine;
        });
      turns[me] = mine;
    });
  gathered.wait();
  const double seconds = seconds_of([&] {
    phase.store(Phase::counting, std::memory_order_relaxed);
    std::this_thread::sleep_for(span);
    phase.store(Phase::over, std::memory_order_relaxed);
  });
  for (auto& thread : threads) thread.join();

  std::uint64_t sum = 0;
  for (const std::uint64_t each : turns) sum += each;
  if (sum != total) throw std::runtime_error("two threads had the lock at once");
  return {static_cast<double>(changes) / seconds, jain_index(turns)};
}

}  // namespace bench
