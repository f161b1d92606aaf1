// Goal: four processes with four threads each want one lock. They pass it on at least as often as
// sixteen bare clients pass a token by BLPOP, and at least 0.6 times as often without handovers
// inside a process; with at most two requests per handover; and each process gets its turn.
#include "contention.hpp"
#include "redis/scene.hpp"

namespace {

using bench::Arena;
using bench::contenders;
using bench::Goal;
namespace redis = bench::redis;

constexpr int rounds = 9;
constexpr std::size_t processes = 4;
constexpr std::size_t threads = contenders / processes;
using Span = std::chrono::duration<double>;

struct Had {
  double handovers = 0;
  double jain = 0;      // over processes
  double requests = 0;  // per handover
};

// hold(i, work) calls work() while thread `i` of this process has the lock.
template <class Hold>
void compete(Arena& arena, std::size_t process, Hold&& hold) {
  std::array<std::jthread, threads> all;
  for (std::size_t i = 0; i < threads; ++i)
    all[i] = std::jthread([&, i] {
      while (!arena.over()) hold(i, [&] { arena.visit(process * threads + i); });
    });
}

void with_holdfast(const redis::Scene& scene, const std::string& option, Arena& arena,
                   std::size_t process) {
  const auto store = scene.open(option);
  const auto lock = store.lock("bench", redis::patient());
  compete(arena, process, [&](std::size_t, auto&& work) {
    const auto lease = lock.acquire().value();
    work();
  });
  store.close(std::chrono::seconds(5)).value();
}

void with_tokens(const redis::Scene& scene, Arena& arena, std::size_t process) {
  std::vector<redis::BareToken> clients;
  for (std::size_t i = 0; i < threads; ++i) clients.emplace_back(scene.port());
  compete(arena, process, [&](std::size_t me, auto&& work) {
    clients[me].take();
    work();
    clients[me].give();
  });
}

enum class Watch { time, requests };

template <class Body>
Had contend(const redis::Scene& scene, Span span, Watch watch, Body&& body) {
  bench::Shared<Arena> arena;
  bench::Forked forked(processes, [&](std::size_t process) { body(*arena, process); });
  arena->gather([&] { forked.check(); });
  double requests = 0;
  double seconds = 0;
  if (watch == Watch::requests) {
    redis::Requests counted(scene.port());
    seconds = arena->count(3 * span);
    requests = static_cast<double>(counted.count());
  } else {
    seconds = arena->count(span);
  }
  forked.join();

  std::array<std::uint64_t, processes> turns{};
  for (std::size_t me = 0; me < contenders; ++me) turns[me / threads] += arena->turns()[me];
  const auto changes = static_cast<double>(arena->changes());
  // In hundredths, because requests under way at either end weigh more than the further digits.
  return {changes / seconds, bench::jain_index(turns), std::round(100 * requests / changes) / 100};
}

void measure(const redis::Scene& scene) {
  const Span span(scene.seconds(0.4));
  const auto ours = [&](const std::string& option, Watch watch) {
    return contend(scene, span, watch, [&](Arena& arena, std::size_t process) {
      with_holdfast(scene, option, arena, process);
    });
  };
  const std::string strictly = "handover=off";
  std::vector<double> usual_jain;
  std::vector<double> strict_jain;
  const auto noted = [](const Had& had, std::vector<double>& jain) {
    jain.push_back(had.jain);
    return had.handovers;
  };

  const auto bare = [&](Watch watch) {
    redis::BareToken::lay_out(scene.port());
    return contend(scene, span, watch,
                   [&](Arena& arena, std::size_t process) { with_tokens(scene, arena, process); });
  };

  bench::Side usual{"usual", [&] { return noted(ours("", Watch::time), usual_jain); }};
  bench::Side strict{"strict", [&] { return noted(ours(strictly, Watch::time), strict_jain); }};
  bench::Side tokens{"bare", [&] { return bare(Watch::time).handovers; }};
  bench::in_rotation(rounds, scene.only(), {&usual, &strict, &tokens});

  const Goal fair{Goal::Side::at_least, 0.95};
  bench::print_ratio("handovers, 4 x 4 / BLPOP", usual, tokens, "/s", {Goal::Side::at_least, 1});
  bench::print_figure("fairness over these processes (Jain index)", usual_jain, "", fair);
  bench::print_ratio("handovers, 4 x 4, handover=off / BLPOP", strict, tokens, "/s",
                     {Goal::Side::at_least, 0.6});
  bench::print_figure("fairness over these processes, handover=off", strict_jain, "", fair);
  if (!scene.only().empty()) return;

  const Goal two{Goal::Side::at_most, 2};
  const auto beside = bench::shown(bare(Watch::requests).requests, "");
  bench::print_figure("requests a handover, 4 x 4", {ours("", Watch::requests).requests}, "", two,
                      beside);
  bench::print_figure("requests a handover, 4 x 4, handover=off",
                      {ours(strictly, Watch::requests).requests}, "", two, beside);
}

}  // namespace

int main(int count, char** arguments) { return redis::run(count, arguments, measure); }
