// Goal: sixteen contenders of one process want one lock. Threads pass it on at least 4 times as
// often as sixteen bare clients pass a token by BLPOP, and at least 0.6 times as often as a bare
// line of futexes; coroutines at least 20 times as often as BLPOP; and each gets its turn.
#include "contention.hpp"
#include "futex_line.hpp"
#include "redis/scene.hpp"
#include "support/detached.hpp"

namespace {

using namespace std::chrono_literals;
using bench::Arena;
using bench::contenders;
using bench::Contention;
using bench::Goal;
namespace redis = bench::redis;

constexpr int rounds = 9;
using Span = std::chrono::duration<double>;

Contention by_threads(const holdfast::Lock& lock, Span span) {
  return bench::contend(span, [&](std::size_t, auto&& work) {
    const auto lease = lock.acquire().value();
    work();
  });
}

holdfast::support::Detached compete(const holdfast::Lock& lock, Arena& arena, std::size_t me,
                                    std::atomic<std::size_t>& left) {
  while (!arena.over()) {
    const auto lease = (co_await lock.acquire_async()).value();
    arena.visit(me);
  }
  ++left;
}

Contention by_coroutines(const holdfast::Lock& lock, Span span) {
  Arena arena;
  std::atomic<std::size_t> left{0};
  {
    const auto held = lock.acquire().value();  // Else the first might never suspend.
    for (std::size_t me = 0; me < contenders; ++me) compete(lock, arena, me, left);
  }
  arena.gather([] {});
  const double seconds = arena.count(span);
  while (left < contenders) std::this_thread::sleep_for(1ms);
  return arena.result(seconds);
}

Contention by_futexes(Span span) {
  bench::FutexLine line;
  std::array<bench::FutexLine::Seat, contenders> seats;
  return bench::contend(span, [&](std::size_t me, auto&& work) {
    line.enter(seats[me]);
    work();
    line.leave();
  });
}

Contention by_tokens(int port, Span span) {
  redis::BareToken::lay_out(port);
  std::vector<redis::BareToken> clients;
  for (std::size_t i = 0; i < contenders; ++i) clients.emplace_back(port);
  return bench::contend(span, [&](std::size_t me, auto&& work) {
    clients[me].take();
    work();
    clients[me].give();
  });
}

void measure(const redis::Scene& scene) {
  const Span span(scene.seconds(0.3));
  const auto lock = scene.open().lock("bench", redis::patient());
  std::vector<double> thread_jain;
  std::vector<double> coroutine_jain;
  const auto noted = [](const Contention& had, std::vector<double>& jain) {
    jain.push_back(had.jain);
    return had.handovers;
  };

  bench::Side threads{"threads", [&] { return noted(by_threads(lock, span), thread_jain); }};
  bench::Side coroutines{"coroutines",
                         [&] { return noted(by_coroutines(lock, span), coroutine_jain); }};
  bench::Side tokens{"bare", [&] { return by_tokens(scene.port(), span).handovers; }};
  bench::Side futexes{"futexes", [&] { return by_futexes(span).handovers; }};
  bench::in_rotation(rounds, scene.only(), {&threads, &coroutines, &tokens, &futexes});

  const Goal fair{Goal::Side::at_least, 0.99};
  bench::print_ratio("handovers, 16 threads / BLPOP", threads, tokens, "/s",
                     {Goal::Side::at_least, 4});
  bench::print_ratio("handovers, 16 threads / futex line", threads, futexes, "/s",
                     {Goal::Side::at_least, 0.6});
  bench::print_figure("fairness of these threads (Jain index)", thread_jain, "", fair);
  bench::print_ratio("handovers, 16 coroutines / BLPOP", coroutines, tokens, "/s",
                     {Goal::Side::at_least, 20});
  bench::print_figure("fairness of these coroutines (Jain index)", coroutine_jain, "", fair);
}

}  // namespace

int main(int count, char** arguments) { return redis::run(count, arguments, measure); }
