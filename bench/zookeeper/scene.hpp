// What every benchmark on ZooKeeper starts with: a server that is configured as most are, with its
// data on the disk.
#pragma once

#include "peers/entrants.hpp"
#include "peers/events.hpp"
#include "support/zookeeper/server.hpp"

namespace bench::zookeeper {

// The body of main(); `body` takes options and entrants.
template <class Body>
int run(int count, char** arguments, Body&& body) {
  return run_with_options(count, arguments, [&](const Place& place, const Options& options) {
    ::setenv("TMPDIR", place.folder.c_str(), 1);
    const holdfast::support::ZooKeeperServer server(
        {.tick = std::chrono::seconds(2),
         .java = {"-Xmx1g", "-XX:TieredStopAtLevel=4", "-Dznode.container.checkIntervalMs=60000"}});
    body(options, Entrants(place, options, server.url(), server.address()));
  });
}

}  // namespace bench::zookeeper
