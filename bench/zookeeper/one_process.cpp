// Goal: sixteen threads of one process that want one lock pass it on at least 20 times as often as
// Curator's and kazoo's do; at least 1.2 times as often as Curator's if every handover goes through
// the server; and each gets its turn.
#include "zookeeper/scene.hpp"

namespace {

using bench::Goal;

void measure(const bench::Options& options, const bench::Entrants& all) {
  bench::Race race(options, {all.ours(), all.strict(), all.curator(), all.kazoo()});
  race.run(bench::one_process);
  const std::string what = "ZooKeeper: handovers, 16 threads";
  for (const auto* other : {"Curator", "kazoo"})
    race.compare(what, "holdfast", other, "/s", {Goal::Side::at_least, 20});
  race.compare(what + ", handover=off", "handover=off", "Curator", "/s",
               {Goal::Side::at_least, 1.2});
  race.compare(what + ", handover=off", "handover=off", "kazoo", "/s");
  race.show("ZooKeeper: fairness of these threads (Jain index)", "holdfast", "",
            {Goal::Side::at_least, 0.99});
}

}  // namespace

int main(int count, char** arguments) { return bench::zookeeper::run(count, arguments, measure); }
