// Goal: one thread takes and gives back a free lock at least as often as Curator and kazoo do.
#include "zookeeper/scene.hpp"

namespace {

void measure(const bench::Options& options, const bench::Entrants& all) {
  bench::Race race(options, {all.ours(), all.curator(), all.kazoo()});
  race.run(bench::free_lock);
  for (const auto* other : {"Curator", "kazoo"})
    race.compare("ZooKeeper: acquire + release, free, 1 thread", "holdfast", other, "/s",
                 {bench::Goal::Side::at_least, 1});
}

}  // namespace

int main(int count, char** arguments) { return bench::zookeeper::run(count, arguments, measure); }
