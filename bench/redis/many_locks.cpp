// Goal: 32 locks, each taken and given back all the time. 32 coroutines do at least 0.75 times, and
// 32 blocking threads at least 0.5 times, as many pairs as one bare connection with 32 keys in a
// pipeline.
#include <array>
#include <atomic>
#include <thread>

#include "redis/scene.hpp"
#include "support/detached.hpp"
#include "use.hpp"

namespace {

using namespace std::chrono_literals;
using bench::Goal;
namespace redis = bench::redis;

constexpr int rounds = 9;
constexpr std::size_t many = 32;
using Locks = std::vector<holdfast::Lock>;

struct Done {
  double pairs_a_second = 0;
  std::uint64_t pairs = 0;  // in all, until the last worker ended
};

// Counts what 32 workers do. Timing begins once they are under way.
class Tally {
 public:
  bool over() const { return over_.load(std::memory_order_relaxed); }
  void add(std::size_t worker) { pairs_[worker].count.fetch_add(1, std::memory_order_relaxed); }
  void leave() { ++left_; }

  Done result(double span) {
    std::this_thread::sleep_for(50ms);
    const std::uint64_t before = sum();
    std::uint64_t after = 0;
    const double seconds = bench::seconds_of([&] {
      std::this_thread::sleep_for(std::chrono::duration<double>(span));
      after = sum();
    });
    over_ = true;
    while (left_ < many) std::this_thread::sleep_for(1ms);
    return {static_cast<double>(after - before) / seconds, sum()};
  }

 private:
  struct alignas(64) Pairs {
    std::atomic<std::uint64_t> count{0};
  };
  std::uint64_t sum() const {
    std::uint64_t sum = 0;
    for (const Pairs& pairs : pairs_) sum += pairs.count.load(std::memory_order_relaxed);
    return sum;
  }

  std::array<Pairs, many> pairs_;
  std::atomic<bool> over_{false};
  std::atomic<std::size_t> left_{0};
};

Done by_threads(const Locks& locks, double span) {
  Tally tally;
  std::array<std::jthread, many> threads;
  for (std::size_t me = 0; me < many; ++me)
    threads[me] = std::jthread([&, me] {
      for (; !tally.over(); tally.add(me)) locks[me].acquire().value().release().value();
      tally.leave();
    });
  return tally.result(span);
}

holdfast::support::Detached take_and_give(const holdfast::Lock& lock, Tally& tally,
                                          std::size_t me) {
  for (; !tally.over(); tally.add(me)) {
    const auto lease = (co_await lock.acquire_async()).value();
  }
  tally.leave();
}

Done by_coroutines(const Locks& locks, double span) {
  Tally tally;
  for (std::size_t me = 0; me < many; ++me) {
    const auto held = locks[me].acquire().value();  // Else it might never suspend.
    take_and_give(locks[me], tally, me);
  }
  return tally.result(span);
}

// Each key goes on as soon as its own reply is there.
class Pipeline {
 public:
  explicit Pipeline(int port) : bare_(port), scripts_(bare_) {
    for (std::size_t i = 0; i < many; ++i) keys_[i] = "bare/" + std::to_string(i);
  }

  double pairs_a_second(double span) {
    std::uint64_t replies = 0;
    for (const std::string& key : keys_) scripts_.ask(key);
    const auto end = bench::Clock::now() + std::chrono::duration<double>(span);
    const double seconds = bench::seconds_of([&] {
      while (bench::Clock::now() < end)
        for (auto reply = bare_.next(); reply; reply = bare_.arrived()) step(replies++, reply);
    });
    for (std::size_t left = 0; left < many; ++left) bare_.next();
    for (const std::string& key : keys_) bare_.command({"DEL", key});
    return static_cast<double>(replies) / 2 / seconds;
  }

 private:
  // Replies come in the order of the requests: all keys acquired, all released, and so on.
  void step(std::uint64_t number, const redis::Bare::Reply& reply) {
    const std::string& key = keys_[number % many];
    if (number / many % 2 == 0) {
      scripts_.expect_granted(reply);
      scripts_.drop(key);
    } else {
      scripts_.expect_dropped(reply);
      scripts_.ask(key);
    }
  }

  redis::Bare bare_;
  redis::BareScripts scripts_;
  std::array<std::string, many> keys_;
};

void measure(const redis::Scene& scene) {
  const double span = scene.seconds(0.4);
  const auto store = scene.open();
  Locks locks;
  for (std::size_t i = 0; i < many; ++i)
    locks.push_back(store.lock("bench/" + std::to_string(i), redis::patient()));
  Pipeline pipeline(scene.port());

  const auto coroutine_pairs = [&](double seconds) { return by_coroutines(locks, seconds); };
  const auto thread_pairs = [&](double seconds) { return by_threads(locks, seconds); };
  bench::Side coroutines{"coroutines", [&] { return coroutine_pairs(span).pairs_a_second; }};
  bench::Side threads{"threads", [&] { return thread_pairs(span).pairs_a_second; }};
  bench::Side pipelined{"bare", [&] { return pipeline.pairs_a_second(span); }};
  bench::in_rotation(rounds, scene.only(), {&coroutines, &threads, &pipelined});
  bench::print_ratio("32 locks, 32 coroutines / pipeline of 32", coroutines, pipelined, "/s",
                     {Goal::Side::at_least, 0.75});
  bench::print_ratio("32 locks, 32 threads / pipeline of 32", threads, pipelined, "/s",
                     {Goal::Side::at_least, 0.5});
  if (!scene.only().empty()) return;
  bench::print_figure("memory of the client after these", {bench::Use::now().resident / 1e6}, "MB",
                      {Goal::Side::at_most, 10});

  // With fewer than two the comparison would be unfair: each pair must have reached the server.
  const auto requests_of = [&](auto&& work) {
    redis::Requests requests(scene.port());
    const auto pairs = static_cast<double>(work(0.05).pairs);
    return static_cast<double>(requests.count()) / pairs;
  };
  bench::print_figure("requests of a pair, 32 coroutines", {requests_of(coroutine_pairs)}, "");
  bench::print_figure("requests of a pair, 32 threads", {requests_of(thread_pairs)}, "");
}

}  // namespace

int main(int count, char** arguments) { return redis::run(count, arguments, measure); }
