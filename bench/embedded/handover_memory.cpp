// Goal: sixteen threads on one name of `memory:` pass it on at least 0.6 times as fast as a bare
// line of futexes, and each gets its turn.
#include "contention.hpp"
#include "futex_line.hpp"
#include "holdfast/holdfast.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int rounds = 15;
constexpr auto span = 200ms;

void measure(const bench::Place&) {
  bench::FutexLine line;
  std::array<bench::FutexLine::Seat, bench::contenders> seats;
  const auto lock = holdfast::open("memory:").value().lock("bench");

  std::vector<double> our_jain;
  std::vector<double> line_jain;
  const auto counted = [](const bench::Contention& had, std::vector<double>& jain) {
    jain.push_back(had.jain);
    return had.handovers;
  };
  const auto result = bench::in_turn(
      rounds,
      [&] {
        return counted(bench::contend(span,
                                      [&](std::size_t, auto&& work) {
                                        const auto lease = lock.acquire().value();
                                        work();
                                      }),
                       our_jain);
      },
      [&] {
        return counted(bench::contend(span,
                                      [&](std::size_t me, auto&& work) {
                                        line.enter(seats[me]);
                                        work();
                                        line.leave();
                                      }),
                       line_jain);
      },
      [](double ours, double bare) { return ours / bare; });

  const bench::Spread ours = bench::spread_of(our_jain);
  bench::print({.what = "handovers, 16 threads, memory: / futex line",
                .ours = bench::shown(bench::spread_of(result.ours).median, "/s"),
                .beside = bench::shown(bench::spread_of(result.beside).median, "/s"),
                .measured = bench::spread_of(result.compared),
                .goal = {bench::Goal::Side::at_least, 0.6}});
  bench::print({.what = "fairness of these (Jain index)",
                .ours = bench::shown(ours.median, ""),
                .beside = bench::shown(bench::spread_of(line_jain).median, ""),
                .measured = ours,
                .unit = "",
                .goal = {bench::Goal::Side::at_least, 0.99}});
}

}  // namespace

int main(int count, char** arguments) { return bench::run(count, arguments, measure); }
