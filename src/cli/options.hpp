// The command line. The parser, the usage lines and the help use one table of commands and one of
// flags. Flags may stand before or after the command and NAME, up to "--".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "holdfast/result.hpp"

namespace holdfast::cli {

enum class Verb : std::uint8_t { run, ls, show, break_, watch, init, lab, version, help };

enum class Side : std::uint8_t { exclusive, shared, permits };
enum class KillTree : std::uint8_t { no, tree, namespace_ };

struct Options {
  Verb verb{};
  std::string name;  // NAME, PREFIX, or the topic of help

  std::optional<std::string> store;
  bool json = false;
  bool force = false;
  bool as_new = false;
  bool verbose = false;

  Millis ttl{30'000};
  Millis wait = forever;  // 0: try once
  Side side = Side::exclusive;
  std::uint32_t permits = 1;   // that this run takes …
  std::uint32_t capacity = 1;  // … of this many
  bool stop_when_lost = true;
  KillTree kill_tree = KillTree::no;
  int status_descriptor = -1;
  std::span<char*> command;  // or the lab's arguments; ends in a null pointer, for execve
};

// Throws Failure. `arguments` are those of main, without the program's name.
Options parse(std::span<char*> arguments);

std::string help_text(std::string_view topic);  // for one command; empty: for all

}  // namespace holdfast::cli
