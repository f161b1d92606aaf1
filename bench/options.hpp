// What the benchmarks on servers take besides a folder and a build:
//
//   PROGRAM FOLDER BUILD [--seconds N] [--only SIDE] [--store URL]
//
//   --seconds N   how long one side is measured in one round
//   --only SIDE   measures that side alone, for a profiler
//   --store URL   holdfast uses that store; what is beside it still uses the server
#pragma once

#include <optional>

#include "measure.hpp"

namespace bench {

struct Options {
  std::optional<double> seconds;
  std::string only;
  std::string store;
};

inline std::string with_option(std::string url, std::string_view option) {
  if (option.empty()) return url;
  url += url.find('?') == std::string::npos ? '?' : '&';
  return url.append(option);
}

// The body of main(); `body` takes a place and options.
template <class Body>
int run_with_options(int count, char** arguments, Body&& body) {
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
  return run(paired ? 3 : 0, arguments, [&](const Place& place) { body(place, options); });
}

}  // namespace bench
