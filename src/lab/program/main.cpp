// holdfast-lab: the laboratory. It is not part of the command `holdfast`, because its core has
// switches that break it on purpose.
#include <exception>
#include <vector>

#include "cli/output.hpp"
#include "cli/text.hpp"
#include "lab/program/program.hpp"

namespace holdfast::lab::program {
namespace {

struct Command {
  std::string_view name;
  std::string_view operands;
  std::string_view help;
  int (*perform)(Words words);
};

constexpr Command commands[] = {
    {"list", "", "all exhibits, and what becomes of each", list},
    {"show", "NAME [--svg FILE | --html FILE]", "play an exhibit and draw it", show},
    {"replay", "SEED", "play a seed's story, check it, and shrink what is wrong", replay},
    {"hazards", "--into FOLDER", "write hazards.md and its pictures there", hazards},
    {"check", "FILE", "judge the history of a real run, in JSON lines", check},
    {"hashes", "FIRST LAST", "the hash of each seed's story, to compare builds", hashes},
};

std::string help() {
  std::string text = "holdfast lab: how locks break, and what mends them, on virtual time\n\n";
  for (const auto& command : commands) {
    std::string line = "  " + std::string(command.name) + " " + std::string(command.operands);
    line.append(line.size() < 42 ? 42 - line.size() : 1, ' ');
    text += line + std::string(command.help) + "\n";
  }
  return text +
         "\nWhat cannot be right ends with status 64, a file that cannot be written with 73.\n";
}

int perform(Words words) {
  if (words.empty()) throw bad_usage("a command is missing; see: holdfast lab --help");
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    cli::print(help());
    return cli::exit_code::ok;
  }
  for (const auto& command : commands)
    if (command.name == words[0]) return command.perform(words.subspan(1));
  std::string names;
  for (const auto& command : commands) names.append(names.empty() ? "" : ", ").append(command.name);
  throw bad_usage("there is no command '" + cli::escaped(words[0], 64) +
                  "' in the lab; there are " + names);
}

int main(const std::vector<std::string_view>& words) {
  try {
    return perform(words);
  } catch (const cli::Failure& failure) {
    cli::complain(failure, false);
    return failure.code;
  } catch (const std::exception& error) {
    cli::complain(error.what());
    return cli::exit_code::internal;
  }
}

}  // namespace
}  // namespace holdfast::lab::program

int main(int count, char** arguments) {
  return holdfast::lab::program::main({arguments + (count > 0 ? 1 : 0), arguments + count});
}
