// Sixteen contenders for one lock: threads, coroutines, or threads of processes. They never stop.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <thread>

#include "measure.hpp"

namespace bench {

constexpr std::size_t contenders = 16;

struct Contention {
  double handovers = 0;  // per second: changes of owner; taking it again oneself is none
  double jain = 0;       // 1: all had it equally often; 1/n: one of n always had it
};

template <std::size_t n>
double jain_index(const std::array<std::uint64_t, n>& turns) {
  double sum = 0;
  double squares = 0;
  for (const std::uint64_t each : turns) {
    sum += static_cast<double>(each);
    squares += static_cast<double>(each) * static_cast<double>(each);
  }
  return squares > 0 ? sum * sum / (static_cast<double>(n) * squares) : 0;
}

// Where they meet; in shared memory if they are processes. Counting begins once each has had the
// lock: one that is alone takes a free lock again and again, which is no handover.
class Arena {
 public:
  // Contender `me` calls it while it has the lock. Only that lock guards the counters.
  void visit(std::size_t me) noexcept {
    if (inside_.exchange(me, std::memory_order_relaxed) != nobody) broken_ = true;
    const Phase phase = phase_.load(std::memory_order_relaxed);
    if (phase == Phase::gathering && !came_[me]) {
      came_[me] = true;
      gathered_.fetch_add(1, std::memory_order_relaxed);
    } else if (phase == Phase::counting) {
      changes_ += owner_ != me;
      owner_ = me;
      ++turns_[me];
    }
    inside_.store(nobody, std::memory_order_relaxed);
  }
  bool over() const noexcept { return phase_.load(std::memory_order_relaxed) == Phase::over; }

  // `check` throws if a contender has died and will never come.
  template <class Check>
  void gather(Check&& check) {
    const auto give_up = Clock::now() + std::chrono::seconds(30);
    while (gathered_.load(std::memory_order_relaxed) < contenders) {
      check();
      if (Clock::now() > give_up) {
        phase_.store(Phase::over, std::memory_order_relaxed);
        throw std::runtime_error("not all got the lock within 30 s");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  double count(std::chrono::duration<double> span) {
    return seconds_of([&] {
      phase_.store(Phase::counting, std::memory_order_relaxed);
      std::this_thread::sleep_for(span);
      phase_.store(Phase::over, std::memory_order_relaxed);
    });
  }

  // Call it once all have left.
  Contention result(double seconds) const {
    return {static_cast<double>(changes()) / seconds, jain_index(turns_)};
  }
  std::uint64_t changes() const {
    if (broken_) throw std::runtime_error("two had the lock at once");
    return changes_;
  }
  const std::array<std::uint64_t, contenders>& turns() const { return turns_; }

 private:
  enum class Phase { gathering, counting, over };
  static constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

  std::atomic<Phase> phase_{Phase::gathering};
  std::atomic<std::size_t> gathered_{0};
  std::atomic<std::size_t> inside_{nobody};
  bool broken_ = false;
  std::size_t owner_ = nobody;
  std::uint64_t changes_ = 0;
  std::array<bool, contenders> came_{};
  std::array<std::uint64_t, contenders> turns_{};
};

// hold(me, work) calls work() while thread number `me` has the lock.
template <class Hold>
Contention contend(std::chrono::duration<double> span, Hold&& hold) {
  Arena arena;
  std::array<std::jthread, contenders> threads;
  for (std::size_t me = 0; me < contenders; ++me)
    threads[me] = std::jthread([&, me] {
      while (!arena.over()) hold(me, [&] { arena.visit(me); });
    });
  arena.gather([] {});
  const double seconds = arena.count(span);
  for (auto& thread : threads) thread.join();
  return arena.result(seconds);
}

}  // namespace bench
