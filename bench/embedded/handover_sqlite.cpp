// Goal: sixteen threads on one name of `sqlite:` pass it on at least 20 times as often when the
// process may hand over by itself as when each handover goes through the store.
#include "contention.hpp"
#include "holdfast/holdfast.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int rounds = 7;
constexpr auto span = 600ms;

double handovers(const holdfast::Lock& lock) {
  return bench::contend(span,
                        [&](std::size_t, auto&& work) {
                          const auto lease = lock.acquire().value();
                          work();
                        })
      .handovers;
}

void measure(const bench::Place& place) {
  const std::string file = "sqlite:" + place.folder + "/handover";
  const auto passing = holdfast::open(file + "-on.db").value().lock("bench");
  const auto strict = holdfast::open(file + "-off.db?handover=off").value().lock("bench");
  const auto result = bench::in_turn(
      rounds, [&] { return handovers(passing); }, [&] { return handovers(strict); },
      [](double ours, double other) { return ours / other; });
  bench::print({.what = "handovers, 16 threads, sqlite: / with handover=off",
                .ours = bench::shown(bench::spread_of(result.ours).median, "/s"),
                .beside = bench::shown(bench::spread_of(result.beside).median, "/s"),
                .measured = bench::spread_of(result.compared),
                .goal = {bench::Goal::Side::at_least, 20}});
}

}  // namespace

int main(int count, char** arguments) { return bench::run(count, arguments, measure); }
