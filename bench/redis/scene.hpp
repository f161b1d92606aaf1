// What every benchmark on Redis starts with: a server of its own, marked as new.
#pragma once

#include "holdfast/holdfast.hpp"
#include "options.hpp"
#include "redis/forked.hpp"
#include "redis/server.hpp"
#include "sides.hpp"

namespace bench::redis {

class Scene {
 public:
  Scene(const Place& place, const Options& options) : options_(options), server_(place.folder) {
    // In a process of its own, because a process that forks must not have opened a store.
    Forked(1, [&](std::size_t) { open().init(holdfast::Init::as_new).value(); }).join();
  }

  int port() const { return server_.port(); }
  const Server& server() const { return server_; }
  const std::string& only() const { return options_.only; }
  double seconds(double usual) const { return options_.seconds.value_or(usual); }

  holdfast::Store open(const std::string& option = {}) const {
    const auto url = options_.store.empty() ? server_.url() : options_.store;
    return holdfast::open(with_option(url, option)).value();
  }

 private:
  Options options_;
  Server server_;
};

// Nobody waits for ever for a broken lock.
inline holdfast::LockOptions patient() { return {.wait = std::chrono::seconds(60)}; }

// The body of main().
template <class Body>
int run(int count, char** arguments, Body&& body) {
  return run_with_options(count, arguments, [&](const Place& place, const Options& options) {
    body(Scene(place, options));
  });
}

}  // namespace bench::redis
