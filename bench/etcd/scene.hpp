// What every benchmark on etcd starts with: a server that is configured as most are, with its data
// on the disk.
#pragma once

#include "peers/entrants.hpp"
#include "peers/events.hpp"
#include "support/etcd/server.hpp"

namespace bench::etcd {

// The body of main(); `body` takes options and entrants.
template <class Body>
int run(int count, char** arguments, Body&& body) {
  return run_with_options(count, arguments, [&](const Place& place, const Options& options) {
    ::setenv("TMPDIR", place.folder.c_str(), 1);
    const holdfast::support::EtcdServer server(
        {.heartbeat = std::chrono::milliseconds(100), .election = std::chrono::seconds(1)});
    body(options, Entrants(place, options, server.url(), server.address()));
  });
}

}  // namespace bench::etcd
