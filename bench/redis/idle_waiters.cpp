// Goal: twenty processes with ten threads each, all waiting for one held lock, send fewer than
// fifty requests in five seconds. Their other costs are shown.
#include <array>
#include <atomic>
#include <thread>

#include "redis/scene.hpp"

namespace {

using namespace std::chrono_literals;
using bench::Goal;
namespace redis = bench::redis;

constexpr std::size_t processes = 20;
constexpr std::size_t threads = 10;

struct Stage {
  std::atomic<bool> held{false};
  std::atomic<bool> over{false};
  std::atomic<std::size_t> asking{0};
};

template <class Condition>
void until(bench::Forked& forked, Condition&& condition) {
  const auto give_up = bench::Clock::now() + 60s;
  while (!condition()) {
    forked.check();
    if (bench::Clock::now() > give_up) throw std::runtime_error("the waiters do not come");
    std::this_thread::sleep_for(1ms);
  }
}

void hold(const holdfast::Lock& lock, Stage& stage) {
  const auto lease = lock.acquire().value();
  stage.held = true;
  while (!stage.over) std::this_thread::sleep_for(10ms);
}

void wait(const holdfast::Lock& lock, Stage& stage) {
  std::array<std::jthread, threads> all;
  for (auto& thread : all)
    thread = std::jthread([&] {
      ++stage.asking;
      lock.acquire().value().release().value();
    });
}

template <class What>
double sum_of(const std::vector<pid_t>& running, What&& what) {
  double sum = 0;
  for (const pid_t each : running) sum += what(each);
  return sum;
}

void measure(const redis::Scene& scene) {
  const double span = scene.seconds(5);
  const bench::Shared<Stage> stage;
  const auto in_process = [&](auto&& work) {
    const auto store = scene.open();
    work(store.lock("bench", redis::patient()), *stage);
    store.close(5s).value();
  };
  bench::Forked holder(1, [&](std::size_t) { in_process(hold); });
  until(holder, [&] { return stage->held.load(); });
  bench::Forked waiters(processes, [&](std::size_t) { in_process(wait); });
  until(waiters, [&] { return stage->asking == processes * threads; });
  std::this_thread::sleep_for(1s);  // All are in line by then.

  const std::vector<pid_t> server{scene.server().pid()};
  const double waiters_before = sum_of(waiters.running(), bench::processor_seconds);
  const double server_before = sum_of(server, bench::processor_seconds);
  redis::Requests requests(scene.port());
  std::this_thread::sleep_for(std::chrono::duration<double>(span));
  const auto sent = static_cast<double>(requests.count());
  const double waited = sum_of(waiters.running(), bench::processor_seconds) - waiters_before;
  const double served = sum_of(server, bench::processor_seconds) - server_before;
  const double memory = sum_of(waiters.running(), bench::proportional_bytes);
  stage->over = true;
  holder.join();
  waiters.join();  // Each had its turn.

  const std::string who = "200 waiters in 20 processes, ";
  bench::print_figure(who + "requests in " + bench::shown(span, "s"), {sent}, "",
                      {Goal::Side::at_most, 49});
  bench::print_figure(who + "their share of a processor", {waited / span * 100}, "%");
  bench::print_figure(who + "the server's share", {served / span * 100}, "%");
  bench::print_figure(who + "memory of a process", {memory / processes / 1e6}, "MB");
}

}  // namespace

int main(int count, char** arguments) { return redis::run(count, arguments, measure); }
