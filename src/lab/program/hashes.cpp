// hashes and check: the commands for scripts.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "cli/output.hpp"
#include "cli/text.hpp"
#include "lab/check/check.hpp"
#include "lab/play.hpp"
#include "lab/program/program.hpp"

namespace holdfast::lab::program {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || text.str().empty())
    throw bad_usage("cannot read a history from '" + cli::escaped(path, 512) +
                    "'; name a file of JSON lines");
  return text.str();
}

}  // namespace

// One line per seed. Two builds that play the same stories print the same lines.
int hashes(Words words) {
  if (words.size() != 2) throw bad_usage("usage: holdfast lab hashes FIRST LAST");
  const std::uint64_t last = seed_of(words[1]);
  for (std::uint64_t seed = seed_of(words[0]); seed <= last; ++seed) {
    std::array<char, 64> line{};
    std::snprintf(line.data(), line.size(), "%llu %016llx\n", static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(play(plan_of(seed)).hash));
    cli::print(line.data());
    if (seed == last) break;  // `last` may be the greatest number, and ++seed would wrap.
  }
  return cli::exit_code::ok;
}

// Judges a real run's history like that of a store that excludes, under faults.
int check(Words words) {
  if (words.size() != 1) throw bad_usage("usage: holdfast lab check FILE");
  const std::string path(words[0]);
  History history;
  std::string problem;
  if (!read_lines(read_file(path), history, problem))
    throw bad_usage(cli::escaped(path, 512) + ": " + cli::escaped(problem, 512));
  Expectation expected;
  expected.faults = true;
  const std::vector<Violation> found = lab::check(history, expected);
  for (const Violation& violation : found)
    cli::print(std::string(to_string(violation.checker)) + " at " + std::to_string(violation.at) +
               " ns: " + violation.text + "\n");
  if (!found.empty()) return 1;
  cli::print(std::to_string(history.events().size()) + " events, and no promise was broken\n");
  return cli::exit_code::ok;
}

}  // namespace holdfast::lab::program
