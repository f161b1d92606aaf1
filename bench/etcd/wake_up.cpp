// The time from the release in one process to the return of acquire() in another, beside etcd's own
// Go package and etcdctl. The waiter has waited for more than 100 ms, because in that time the
// package may not hear of a release: one_process.cpp shows it.
#include "etcd/scene.hpp"

namespace {

void measure(const bench::Options& options, const bench::Entrants& all) {
  constexpr std::size_t processes = 2;
  bench::Race race(options, {all.ours(), all.go(), all.etcdctl()}, processes);
  race.run(bench::WakeUp(std::chrono::milliseconds(150)));
  for (const auto* other : {"Go", "etcdctl"})
    race.compare("etcd: wake-up across processes, median", "holdfast", other, "us");
  race.show("etcd: wake-up across processes, p90", "holdfast", "us");
}

}  // namespace

int main(int count, char** arguments) { return bench::etcd::run(count, arguments, measure); }
