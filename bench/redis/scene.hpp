// What every benchmark on Redis starts with: a server of its own, marked as new, and its options.
//
//   PROGRAM FOLDER BUILD [--seconds N] [--only SIDE] [--store URL]
//
//   --seconds N   how long one side is measured in one round
//   --only SIDE   measures that side alone, as for a profiler
//   --store URL   holdfast uses that store; the bare clients use the server nevertheless
#pragma once

#include <optional>

#include "holdfast/holdfast.hpp"
#include "redis/forked.hpp"
#include "redis/server.hpp"
#include "sides.hpp"

namespace bench::redis {

struct Options {
  std::optional<double> seconds;
  std::string only;
  std::string store;
};

class Scene {
 public:
  Scene(const Place& place, const Options& options) : options_(options), server_(place.folder) {
    // By a process of its own, for those that fork may not have opened a store.
    Forked(1, [&](std::size_t) { open().init().value(); }).join();
  }

  int port() const { return server_.port(); }
  const Server& server() const { return server_; }
  const std::string& only() const { return options_.only; }
  double seconds(double usual) const { return options_.seconds.value_or(usual); }

  holdfast::Store open(const std::string& option = {}) const {
    std::string url = options_.store.empty() ? server_.url() : options_.store;
    if (!option.empty()) url += (url.find('?') == std::string::npos ? "?" : "&") + option;
    return holdfast::open(url).value();
  }

 private:
  Options options_;
  Server server_;
};

// Nobody waits for ever for a lock that is broken.
inline holdfast::LockOptions patient() { return {.wait = std::chrono::seconds(60)}; }

// The body of main().
template <class Body>
int run(int count, char** arguments, Body&& body) {
  Options options;
  for (int i = 3; i + 1 < count; i += 2) {
    const std::string_view option = arguments[i];
    if (option == "--seconds")
      options.seconds = std::atof(arguments[i + 1]);
    else if (option == "--only")
      options.only = arguments[i + 1];
    else if (option == "--store")
      options.store = arguments[i + 1];
    else
      count = 0;
  }
  const bool paired = count >= 3 && count % 2 == 1;
  return bench::run(paired ? 3 : 0, arguments,
                    [&](const Place& place) { body(Scene(place, options)); });
}

}  // namespace bench::redis
