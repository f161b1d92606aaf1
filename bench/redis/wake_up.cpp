// Goal: the time from the release in one process to the return of acquire() in another is at most
// 1.5 times the time from LPUSH to the return of BLPOP.
#include <array>
#include <atomic>
#include <thread>

#include "redis/scene.hpp"

namespace {

using namespace std::chrono_literals;
using bench::Clock;
using bench::Goal;
namespace redis = bench::redis;

constexpr int rounds = 7;
constexpr std::size_t most_trials = 10'000;

// How far each of the two processes has come, in trials.
struct Stage {
  std::atomic<std::size_t> held{0};
  std::atomic<std::size_t> asking{0};
  std::atomic<std::size_t> woken{0};
  std::atomic<Clock::time_point> left{};
  std::array<double, most_trials> microseconds{};
};

void until(const std::atomic<std::size_t>& mark, std::size_t trial) {
  while (mark.load() < trial) std::this_thread::sleep_for(200us);
}

// Both sides have take() and give().
template <class Side>
void hold_and_leave(Side&& side, Stage& stage, std::size_t trials) {
  for (std::size_t trial = 1; trial <= trials; ++trial) {
    side.take();
    stage.held = trial;
    until(stage.asking, trial);
    std::this_thread::sleep_for(3ms);  // The other one is in line and asleep by then.
    stage.left = Clock::now();
    side.give();
    until(stage.woken, trial);
  }
}
template <class Side>
void wait_and_wake(Side&& side, Stage& stage, std::size_t trials) {
  for (std::size_t trial = 1; trial <= trials; ++trial) {
    until(stage.held, trial);
    stage.asking = trial;
    side.take();
    const std::chrono::duration<double, std::micro> took = Clock::now() - stage.left.load();
    stage.microseconds[trial - 1] = took.count();
    side.give();
    stage.woken = trial;
  }
}

class Ours {
 public:
  explicit Ours(const redis::Scene& scene) : lock_(scene.open().lock("bench", redis::patient())) {}
  void take() { lease_ = lock_.acquire().value(); }
  void give() { lease_->release().value(); }

 private:
  holdfast::Lock lock_;
  std::optional<holdfast::Lease> lease_;
};

struct WakeUp {
  double median = 0;
  double tenth_worst = 0;
};

template <class Make>
WakeUp wake_up(std::size_t trials, Make&& make) {
  const bench::Shared<Stage> stage;
  bench::Forked(2, [&](std::size_t number) {
    if (number == 0)
      hold_and_leave(make(), *stage, trials);
    else
      wait_and_wake(make(), *stage, trials);
  }).join();
  std::vector<double> all(stage->microseconds.begin(),
                          stage->microseconds.begin() + static_cast<std::ptrdiff_t>(trials));
  std::sort(all.begin(), all.end());
  return {bench::spread_of(all).median, all[trials * 9 / 10]};
}

void measure(const redis::Scene& scene) {
  const auto trials =
      std::clamp<std::size_t>(static_cast<std::size_t>(scene.seconds(0.6) / 5e-3), 10, most_trials);
  bench::Side our_worst{"worst", {}};
  bench::Side bare_worst{"worst", {}};
  const auto noted = [](const WakeUp& took, bench::Side& worst) {
    worst.figures.push_back(took.tenth_worst);
    return took.median;
  };
  bench::Side ours{"ours",
                   [&] { return noted(wake_up(trials, [&] { return Ours(scene); }), our_worst); }};
  bench::Side bare{"bare", [&] {
                     redis::BareToken::lay_out(scene.port());
                     return noted(wake_up(trials, [&] { return redis::BareToken(scene.port()); }),
                                  bare_worst);
                   }};
  bench::in_rotation(rounds, scene.only(), {&ours, &bare});
  bench::print_ratio("wake-up across processes, median / BLPOP", ours, bare, "us",
                     {Goal::Side::at_most, 1.5});
  bench::print_ratio("wake-up across processes, p90 / BLPOP", our_worst, bare_worst, "us");
}

}  // namespace

int main(int count, char** arguments) { return redis::run(count, arguments, measure); }
