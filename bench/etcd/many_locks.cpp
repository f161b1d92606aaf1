// Goal: 5,000 locks of 10 s are kept through followers that are 2 ms away from the leader: in five
// minutes none is lost or at risk. Of 3,000 locks none is lost when the leader is killed.
#include <algorithm>
#include <thread>

#include "etcd/scene.hpp"
#include "stores/etcd_answers.hpp"
#include "support/etcd/cluster.hpp"
#include "support/many_leases.hpp"

namespace {

using namespace std::chrono_literals;
using namespace holdfast::support;
using bench::Goal;
namespace etcd = holdfast::stores::etcd;

constexpr holdfast::LockOptions ten_seconds{.ttl = 10s};
constexpr Goal none{Goal::Side::at_most, 0};

EtcdOptions usual() { return {.heartbeat = 100ms, .election = 1s}; }

std::vector<std::string> addresses_of(const std::vector<EtcdServer*>& nodes) {
  std::vector<std::string> all;
  for (const EtcdServer* node : nodes) all.push_back(node->address());
  return all;
}

std::string url_of(const std::vector<std::string>& addresses) {
  std::string hosts;
  for (const std::string& address : addresses) hosts += (hosts.empty() ? "" : ",") + address;
  return "etcd://" + hosts;
}

// Losses and risks until now; renewals and the least time left during the given seconds.
struct Seen {
  double lost = 0, at_risk = 0, renewed = 0;
  double least_left = 0;  // s

  static Seen during(double seconds, const holdfast::Store& store, const ManyLeases& held) {
    const auto renewed = store.stats().renewed;
    auto left = holdfast::Millis::max();
    const auto end = bench::Clock::now() + std::chrono::duration<double>(seconds);
    while (bench::Clock::now() < end) {
      left = std::min(left, held.least_left());
      std::this_thread::sleep_for(100ms);
    }
    const auto all = store.stats();
    return {static_cast<double>(all.lost), static_cast<double>(all.at_risk),
            static_cast<double>(all.renewed - renewed),
            std::chrono::duration<double>(left).count()};
  }
};

void hold_many(const ManyLeases& held, int count) {
  if (held.size() != count) throw std::runtime_error("not all of the locks could be had");
}

// How long 1,500 keep-alives take that start at the same time.
class KeepAlives final : private etcd::Watching {
 public:
  explicit KeepAlives(const std::vector<std::string>& addresses)
      : client_(to(addresses), *this, [](holdfast::BootTime) {}) {
    std::vector<etcd::Later<etcd::LeaseGranted>> asked;
    for (int i = 0; i < 1500; ++i) asked.push_back(client_.grant(600s, deadline_));
    for (const auto& later : asked) leases_.push_back(answer_of(later).lease);
    once();  // Opens the streams and finds the leader, if it is known.
  }
  ~KeepAlives() { client_.close(); }
  double seconds() {
    return bench::seconds_of([&] { once(); });
  }

 private:
  static etcd::Options to(const std::vector<std::string>& addresses) {
    etcd::Options options;
    options.addresses = addresses;
    return options;
  }
  void once() {
    std::vector<etcd::Later<etcd::LeaseKept>> asked;
    for (const auto lease : leases_) asked.push_back(client_.keep(lease, deadline_));
    for (const auto& later : asked)
      if (!answer_of(later).done()) throw std::runtime_error("a keep-alive was not answered");
  }
  void opened(etcd::WatchId, std::int64_t) noexcept override {}
  void changed(etcd::WatchId, const Change&) noexcept override {}
  void closed(etcd::WatchId) noexcept override {}

  const holdfast::BootTime deadline_ = holdfast::BootClock::now() + 60s;
  etcd::Client client_;
  std::vector<std::int64_t> leases_;
  std::jthread ticks_{[this](const std::stop_token& stop) {
    for (; !stop.stop_requested(); std::this_thread::sleep_for(20ms))
      client_.tick(holdfast::BootClock::now());
  }};
};

void measure_followers(EtcdCluster& cluster, double seconds) {
  constexpr int count = 5000;
  const auto followers = addresses_of(cluster.followers());
  const auto leader = cluster.leader().address();
  const auto store = holdfast::open(url_of(followers)).value();
  const ManyLeases held(store, count, ten_seconds);
  hold_many(held, count);
  const Seen seen = Seen::during(seconds, store, held);
  const bool same = cluster.leader().address() == leader;
  const std::string what =
      "etcd: 5,000 locks of 10 s through followers, " + bench::shown(seconds, "s");
  bench::print_figure(what + ": lost", {seen.lost}, "", none);
  bench::print_figure(what + ": at risk", {seen.at_risk}, "", none);
  bench::print_figure(what + ": renewed", {seen.renewed / seconds}, "/s");
  bench::print_figure(what + ": least time left of any", {seen.least_left}, "s");
  if (!same) bench::print_missing(what, "another member leads now");
}

// Each round ends with the killed leader back in the cluster.
void measure_death(EtcdCluster& cluster) {
  constexpr int count = 3000, rounds = 3;
  std::vector<double> lost, left;
  for (int round = 0; round < rounds; ++round) {
    const auto store = holdfast::open(cluster.url()).value();
    const ManyLeases held(store, count, ten_seconds);
    hold_many(held, count);
    EtcdServer& leader = cluster.leader();
    leader.kill();
    const Seen seen = Seen::during(30, store, held);
    lost.push_back(seen.lost);
    left.push_back(seen.least_left);
    leader.start();
    cluster.await_agreement();
  }
  const std::string what = "etcd: 3,000 locks of 10 s, the leader killed: ";
  bench::print_figure(what + "lost, at most", {*std::ranges::max_element(lost)}, "", none);
  bench::print_figure(what + "least time left of any", left, "s");
}

void measure(const bench::Options& chosen) {
  const auto wanted = [&](const char* side) { return chosen.only.empty() || chosen.only == side; };
  EtcdCluster cluster(usual(), Links::proxied);
  cluster.delay(2ms);
  if (wanted("round_trips")) {
    const auto leader = cluster.leader().address();
    const auto followers = addresses_of(cluster.followers());
    const std::string what = "etcd: 1,500 keep-alives at once, ";
    bench::print_figure(what + "to followers", {KeepAlives(followers).seconds()}, "s");
    bench::print_figure(what + "to the leader", {KeepAlives({followers[0], leader}).seconds()},
                        "s");
  }
  if (wanted("followers")) measure_followers(cluster, chosen.seconds.value_or(300));
  if (wanted("death")) measure_death(cluster);
}

}  // namespace

int main(int count, char** arguments) {
  return bench::run_with_options(count, arguments,
                                 [&](const bench::Place& place, const bench::Options& chosen) {
                                   ::setenv("TMPDIR", place.folder.c_str(), 1);
                                   measure(chosen);
                                 });
}
