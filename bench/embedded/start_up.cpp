// Goal: `holdfast run x -- true` on the embedded store takes at most 5 ms more than `flock FILE
// true`, start of the programs included. That is why the command links no store's client library:
// of the libraries that ldd lists, all must be the language's or ours.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "measure.hpp"

namespace {

constexpr int rounds = 101;

double milliseconds_of(const std::string& program, std::vector<const char*> arguments) {
  arguments.push_back(nullptr);
  int status = 0;
  const double seconds = bench::seconds_of([&] {
    pid_t child = 0;
    if (const int code = posix_spawnp(&child, program.c_str(), nullptr, nullptr,
                                      const_cast<char* const*>(arguments.data()), environ))
      throw std::runtime_error(program + ": " + std::strerror(code));
    while (wait4(child, &status, 0, nullptr) < 0) {
    }
  });
  if (status != 0) throw std::runtime_error(program + " failed");
  return seconds * 1000;
}

bool is_expected(std::string_view library) {
  constexpr std::array ours{"linux-vdso.", "/lib64/ld-linux", "/lib/ld-linux", "libholdfast.",
                            "libstdc++.",  "libgcc_s.",       "libm.",         "libc."};
  return std::any_of(ours.begin(), ours.end(),
                     [&](const char* start) { return library.starts_with(start); });
}

std::vector<std::string> other_libraries(const std::string& program) {
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(("ldd '" + program + "'").c_str(), "r"),
                                                     pclose);
  std::vector<std::string> others;
  std::array<char, 4096> line;
  int seen = 0;
  while (output && std::fgets(line.data(), line.size(), output.get())) {
    const std::string_view text(line.data() + std::strspn(line.data(), " \t"));
    const std::string_view library = text.substr(0, text.find_first_of(" \n"));
    if (!is_expected(library)) others.emplace_back(library);
    ++seen;
  }
  if (seen == 0) throw std::runtime_error("ldd said nothing about " + program);
  return others;
}

void measure(const bench::Place& place) {
  const std::string holdfast = place.build + "/holdfast";
  const std::string file = place.folder + "/flock";
  setenv("XDG_STATE_HOME", (place.folder + "/state").c_str(), 1);
  unsetenv("HOLDFAST_STORE");

  const auto result = bench::in_turn(
      rounds,
      [&] {
        return milliseconds_of(holdfast, {"holdfast", "run", "x", "--", "true"});
      },
      [&] {
        return milliseconds_of("flock", {"flock", file.c_str(), "true"});
      },
      [](double ours, double other) { return ours - other; });
  bench::print({.what = "holdfast run x -- true, more than flock FILE true",
                .ours = bench::shown(bench::spread_of(result.ours).median, "ms"),
                .beside = bench::shown(bench::spread_of(result.beside).median, "ms"),
                .measured = bench::spread_of(result.compared),
                .unit = "ms",
                .goal = {bench::Goal::Side::at_most, 5}});

  const auto others = other_libraries(holdfast);
  const auto count = static_cast<double>(others.size());
  std::string names;
  for (const std::string& other : others) names += (names.empty() ? "" : " ") + other;
  bench::print({.what = "client libraries that holdfast links (ldd)",
                .ours = names.empty() ? "none" : names,
                .measured = {count, count, count},
                .unit = "",
                .goal = {bench::Goal::Side::at_most, 0}});
}

}  // namespace

int main(int count, char** arguments) { return bench::run(count, arguments, measure); }
