// Goal: one thread takes and gives back a free lock at least 0.9 times as often as a bare blocking
// client that sends as many requests, namely two.
#include "pairs.hpp"
#include "redis/scene.hpp"

namespace {

using bench::Goal;
namespace redis = bench::redis;

constexpr int rounds = 15;

void measure(const redis::Scene& scene) {
  const double span = scene.seconds(0.4);
  const auto lock = scene.open().lock("bench", redis::patient());
  const auto our_pair = [&] { lock.acquire().value().release().value(); };

  redis::Bare bare(scene.port());
  redis::BareScripts scripts(bare);
  const auto bare_pair = [&] {
    scripts.ask("bare");
    scripts.expect_granted(bare.next());
    scripts.drop("bare");
    scripts.expect_dropped(bare.next());
  };

  bench::Side ours{"ours", [&] { return bench::pairs_a_second(span, our_pair); }};
  bench::Side beside{"bare", [&] { return bench::pairs_a_second(span, bare_pair); }};
  bench::in_rotation(rounds, scene.only(), {&ours, &beside});
  bench::print_ratio("acquire + release, free, 1 thread / blocking client", ours, beside, "/s",
                     {Goal::Side::at_least, 0.9});
  if (!scene.only().empty()) return;

  const auto requests_of = [&](auto&& pair) {
    constexpr int pairs = 1000;
    redis::Requests requests(scene.port());
    for (int i = 0; i < pairs; ++i) pair();
    return static_cast<double>(requests.count()) / pairs;
  };
  bench::print_figure("requests of one such pair", {requests_of(our_pair)}, "",
                      {Goal::Side::at_most, 2}, bench::shown(requests_of(bare_pair), ""));
}

}  // namespace

int main(int count, char** arguments) { return redis::run(count, arguments, measure); }
