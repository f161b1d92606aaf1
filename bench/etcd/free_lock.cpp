// Goal: one thread takes and gives back a free lock at least as often as etcd's own Go package and
// etcdctl do.
#include "etcd/scene.hpp"

namespace {

void measure(const bench::Options& options, const bench::Entrants& all) {
  bench::Race race(options, {all.ours(), all.go(), all.etcdctl()});
  race.run(bench::free_lock);
  for (const auto* other : {"Go", "etcdctl"})
    race.compare("etcd: acquire + release, free, 1 thread", "holdfast", other, "/s",
                 {bench::Goal::Side::at_least, 1});
}

}  // namespace

int main(int count, char** arguments) { return bench::etcd::run(count, arguments, measure); }
