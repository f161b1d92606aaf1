// How the peers are started. What they need is installed into the build tree, under bench/peers.
#pragma once

#include "peers/race.hpp"

namespace bench {

class Entrants {
 public:
  Entrants(const Place& place, const Options& options, const std::string& url, std::string address)
      : built_(place.build + "/bench/peers/"),
        url_(options.store.empty() ? url : options.store),
        address_(std::move(address)) {}

  Entrant ours() const { return ours("holdfast", url_); }
  Entrant strict() const {  // no handover inside the process
    return ours("handover=off", with_option(url_, "handover=off"));
  }
  Entrant curator() const {
    const auto run = interop_ + "/curator/run";
    const auto source = peers_ + "/curator/Peer.java";
    return {.name = "Curator",
            .command = {run, built_ + "curator", source, "Peer", address_},
            .warms_up = true};
  }
  Entrant kazoo() const {
    const auto program = peers_ + "/python/kazoo_peer.py";
    return {.name = "kazoo",
            .command = {interop_ + "/python", "kazoo", built_ + "kazoo", program, address_}};
  }
  Entrant go() const {
    return {.name = "Go", .command = {peers_ + "/etcd-go/run", built_ + "etcd-go", address_}};
  }
  Entrant etcdctl() const {
    const auto program = peers_ + "/python/etcdctl_peer.py";
    return {.name = "etcdctl", .command = {"python3", "-B", program, address_}};
  }

 private:
  Entrant ours(const std::string& name, const std::string& url) const {
    return {.name = name, .command = {built_ + "holdfast", url}, .fetched = false};
  }

  std::string built_;
  std::string url_;
  std::string address_;
  std::string peers_ = HOLDFAST_BENCH_PEERS;
  std::string interop_ = HOLDFAST_INTEROP;
};

}  // namespace bench
