// Goal: sixteen threads of one process that want one lock pass it on at least 20 times as often as
// etcd's own Go package and etcdctl do; at least 4 times as often as the package if every handover
// goes through the server; and each gets its turn.
#include "etcd/scene.hpp"

namespace {

using bench::Goal;

void measure(const bench::Options& options, const bench::Entrants& all) {
  bench::Race race(options, {all.ours(), all.strict(), all.go(), all.etcdctl()});
  race.run(bench::one_process);
  const std::string what = "etcd: handovers, 16 threads";
  for (const auto* other : {"Go", "etcdctl"})
    race.compare(what, "holdfast", other, "/s", {Goal::Side::at_least, 20});
  race.compare(what + ", handover=off", "handover=off", "Go", "/s", {Goal::Side::at_least, 4});
  race.compare(what + ", handover=off", "handover=off", "etcdctl", "/s");
  race.show("etcd: fairness of these threads (Jain index)", "holdfast", "",
            {Goal::Side::at_least, 0.99});
}

}  // namespace

int main(int count, char** arguments) { return bench::etcd::run(count, arguments, measure); }
