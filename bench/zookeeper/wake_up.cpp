// The time from release in one process to acquire() returning in another, beside Curator and kazoo.
#include "zookeeper/scene.hpp"

namespace {

void measure(const bench::Options& options, const bench::Entrants& all) {
  constexpr std::size_t processes = 2;
  bench::Race race(options, {all.ours(), all.curator(), all.kazoo()}, processes);
  race.run(bench::WakeUp(std::chrono::milliseconds(20)));
  for (const auto* other : {"Curator", "kazoo"})
    race.compare("ZooKeeper: wake-up across processes, median", "holdfast", other, "us");
  race.show("ZooKeeper: wake-up across processes, p90", "holdfast", "us");
}

}  // namespace

int main(int count, char** arguments) { return bench::zookeeper::run(count, arguments, measure); }
