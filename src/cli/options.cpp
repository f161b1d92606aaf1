#include "cli/options.hpp"

#include <fcntl.h>

#include <charconv>
#include <vector>

#include "cli/duration.hpp"
#include "cli/failure.hpp"
#include "cli/text.hpp"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_name = 512;
constexpr Millis shortest_ttl = 1s;
constexpr Millis longest_ttl = 24h * 30;

struct VerbRow {
  Verb verb;
  std::string_view name;
  std::string_view operand;  // "[…]": optional
  std::string_view help;
};

constexpr VerbRow verbs[] = {
    {Verb::run, "run", "NAME",
     "hold NAME while COMMAND runs, and stop it before a lost lease ends"},
    {Verb::ls, "ls", "[PREFIX]",
     "list who holds what and who waits; looks through the whole store"},
    {Verb::show, "show", "NAME", "show who holds NAME and who waits for it"},
    {Verb::break_, "break", "NAME", "tell the holders of NAME to let go"},
    {Verb::watch, "watch", "[PREFIX]",
     "show changes as they happen; looks through the whole store again and again"},
    {Verb::init, "init", "", "create what the store needs, before its first use"},
    {Verb::lab, "lab", "COMMAND", "see how locks break, and what mends them; holdfast lab --help"},
    {Verb::version, "version", "", "print the version"},
    {Verb::help, "help", "[COMMAND]", "explain a command"},
};

constexpr unsigned bit(Verb verb) { return 1U << static_cast<unsigned>(verb); }
constexpr unsigned on_run = bit(Verb::run);
constexpr unsigned on_all = ~bit(Verb::lab);  // lab parses its own arguments

enum class Takes : std::uint8_t { nothing, a_value, maybe_a_value };

// Flags with the same slot exclude each other, and each may be given once.
struct FlagRow {
  std::string_view name;
  Takes takes;
  std::string_view value;
  int slot;
  unsigned verbs;
  void (*set)(Options& options, std::string_view value);
  std::string_view help;
};

std::uint32_t parse_count(std::string_view text, std::string_view all) {
  std::uint32_t count = 0;
  const auto end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || rest != end || count == 0)
    throw bad_usage("--permits '" + escaped(all, 64) +
                    "' is not K/N; write for example 1/5: one of five");
  return count;
}

void set_ttl(Options& options, std::string_view value) {
  options.ttl = parse_duration(value, "--ttl");
  if (options.ttl < shortest_ttl || options.ttl > longest_ttl)
    throw bad_usage("--ttl '" + std::string(value) +
                    "' is out of range; write 1s to 720h, for example 30s");
}

void set_wait(Options& options, std::string_view value) {
  options.wait = value == "forever" ? forever : parse_duration(value, "--wait");
}

void set_permits(Options& options, std::string_view value) {
  options.side = Side::permits;
  const auto slash = value.find('/');
  options.permits = parse_count(value.substr(0, slash), value);
  options.capacity =
      parse_count(slash == value.npos ? std::string_view{} : value.substr(slash + 1), value);
  if (options.permits > options.capacity)
    throw bad_usage("--permits '" + std::string(value) +
                    "' asks for more than there are; write K/N with K at most N");
}

void set_on_lost(Options& options, std::string_view value) {
  if (value != "stop" && value != "warn")
    throw bad_usage("--on-lost '" + escaped(value, 64) + "' is unknown; write stop or warn");
  options.stop_when_lost = value == "stop";
}

void set_kill_tree(Options& options, std::string_view value) {
  if (!value.empty() && value != "pidns")
    throw bad_usage("--kill-tree=" + escaped(value, 64) +
                    " is unknown; write --kill-tree or --kill-tree=pidns");
  options.kill_tree = value.empty() ? KillTree::tree : KillTree::namespace_;
}

void set_status_descriptor(Options& options, std::string_view value) {
  const auto end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, options.status_descriptor);
  if (error != std::errc() || rest != end || options.status_descriptor < 0)
    throw bad_usage("--status-fd '" + escaped(value, 64) +
                    "' is not a number; write for example --status-fd 3 … 3>FILE");
  const int flags = ::fcntl(options.status_descriptor, F_GETFL);
  if (flags == -1 || (flags & O_ACCMODE) == O_RDONLY)
    throw bad_usage("--status-fd " + std::string(value) + " is not open for writing; add " +
                    std::string(value) + ">FILE");
}

constexpr FlagRow flags[] = {
    {"--store", Takes::a_value, "URL", 0, on_all & ~bit(Verb::version) & ~bit(Verb::help),
     [](Options& options, std::string_view value) { options.store = value; },
     "where the locks live; else HOLDFAST_STORE, else SQLite in the user's state folder"},
    {"--ttl", Takes::a_value, "D", 1, on_run, set_ttl,
     "how long a holder that died blocks the others: 1500ms, 30s, 5m; at least 1s; default 30s"},
    {"--wait", Takes::a_value, "D", 2, on_run, set_wait,
     "give up after this long, with status 75; 0s tries once; default forever"},
    {"--no-wait", Takes::nothing, "", 2, on_run,
     [](Options& options, std::string_view) { options.wait = 0ms; }, "the same as --wait 0s"},
    {"--shared", Takes::nothing, "", 3, on_run,
     [](Options& options, std::string_view) { options.side = Side::shared; },
     "hold it together with others that say --shared; excludes those that do not"},
    {"--permits", Takes::a_value, "K/N", 3, on_run, set_permits,
     "take K of N permits: at most N are out at a time"},
    {"--on-lost", Takes::a_value, "stop|warn", 4, on_run, set_on_lost,
     "when the lease is lost: stop the command (default), or only warn, which is not safe"},
    {"--kill-tree", Takes::maybe_a_value, "pidns", 5, on_run, set_kill_tree,
     "stop also what left the command's process group; pidns: in a pid namespace of its own"},
    {"--status-fd", Takes::a_value, "N", 6, on_run, set_status_descriptor,
     "write a line to descriptor N at each change: waiting, acquired, busy, lost, released"},
    {"--force", Takes::nothing, "", 7, bit(Verb::break_),
     [](Options& options, std::string_view) { options.force = true; },
     "take it from its holders at once, without waiting for them to let go"},
    {"--new", Takes::nothing, "", 10, bit(Verb::init),
     [](Options& options, std::string_view) { options.as_new = true; },
     "it has never had a lock: do not wait at first use; asks at a terminal, status 1 is no"},
    {"--verbose", Takes::nothing, "", 8, bit(Verb::show),
     [](Options& options, std::string_view) { options.verbose = true; },
     "show also what the store tells of itself"},
    {"--json", Takes::nothing, "", 9, on_all,
     [](Options& options, std::string_view) { options.json = true; },
     "print JSON; tokens are strings, *_encoded has the exact bytes percent-encoded"},
};

constexpr std::string_view last_words = R"(
holdfast help COMMAND explains one of them.

The exit status of run is that of its command; else 64 usage, 69 store unavailable, 70 internal,
73 store file cannot be created, 75 busy, 76 lost, 77 denied, 78 configuration, 126 or 127 the
command cannot be run, 128+n ended by signal n. --status-fd tells them apart. The other commands
have the same, and 74 if their output cannot be written.
)";

const VerbRow* find_verb(std::string_view name) {
  for (const auto& row : verbs)
    if (row.name == name) return &row;
  return nullptr;
}

std::string spelled(const FlagRow& flag) {
  std::string text(flag.name);
  if (flag.takes == Takes::a_value) text.append(" ").append(flag.value);
  if (flag.takes == Takes::maybe_a_value) text.append("[=").append(flag.value).append("]");
  return text;
}

std::string usage_of(const VerbRow& verb) {
  std::string text = "holdfast " + std::string(verb.name);
  int slot = -1;
  for (const auto& flag : flags) {
    if ((flag.verbs & bit(verb.verb)) == 0) continue;
    if (flag.slot == slot)
      text.insert(text.size() - 1, " | " + spelled(flag));
    else
      text += " [" + spelled(flag) + "]";
    slot = flag.slot;
  }
  if (!verb.operand.empty()) text.append(" ").append(verb.operand);
  if (verb.verb == Verb::run) text += " -- COMMAND [ARGUMENT…]";
  return text;
}

// Reads all flags and operands first, and then checks which belong together.
class Parser {
 public:
  explicit Parser(std::span<char*> arguments) : rest_(arguments) {}
  Options parse();

 private:
  struct Given {
    const FlagRow* flag;
    std::string_view value;
  };
  void read_flag(std::string_view argument);
  void choose_verb();
  void check_flags();
  void check_operands();
  Failure wrong(const std::string& what) const {
    return bad_usage(what + (verb_ ? "; usage: " + usage_of(*verb_) : "; see: holdfast help"));
  }

  std::span<char*> rest_;
  const VerbRow* verb_ = nullptr;
  bool wants_help_ = false;
  bool separated_ = false;  // there was a "--"
  std::vector<Given> given_;
  std::vector<std::string_view> operands_;
  Options options_;
};

void Parser::read_flag(std::string_view argument) {
  const auto equals = argument.find('=');
  const auto name = argument.substr(0, equals);
  for (const auto& flag : flags) {
    if (flag.name != name) continue;
    std::string_view value =
        equals == argument.npos ? std::string_view{} : argument.substr(equals + 1);
    if (flag.takes == Takes::nothing && equals != argument.npos)
      throw bad_usage(std::string(name) + " takes no value; write it without =");
    if (flag.takes == Takes::a_value && equals == argument.npos) {
      if (rest_.empty() || std::string_view(rest_[0]) == "--")
        throw bad_usage(std::string(name) + " needs a value; write " + spelled(flag));
      value = rest_[0];
      rest_ = rest_.subspan(1);
    }
    given_.push_back({&flag, value});
    return;
  }
  operands_.push_back(argument);  // an unknown flag, refused once the command is known
}

void Parser::choose_verb() {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].starts_with('-')) continue;
    verb_ = find_verb(operands_[i]);
    if (!verb_) throw wrong("there is no command '" + escaped(operands_[i], 64) + "'");
    operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(i));
    options_.verb = verb_->verb;
    return;
  }
  if (!operands_.empty()) throw wrong("unknown option '" + escaped(operands_[0], 64) + "'");
  if (!wants_help_) throw wrong("a command is missing");
}

void Parser::check_flags() {
  std::vector<const FlagRow*> taken(std::size(flags));
  for (const auto& [flag, value] : given_) {
    if ((flag->verbs & bit(verb_->verb)) == 0)
      throw wrong(std::string(flag->name) + " is not an option of " + std::string(verb_->name));
    auto& holder = taken[static_cast<std::size_t>(flag->slot)];
    if (holder == flag)
      throw bad_usage(std::string(flag->name) + " stands there twice; write it once");
    if (holder)
      throw bad_usage(std::string(holder->name) + " and " + std::string(flag->name) +
                      " exclude each other; write one of them");
    holder = flag;
    flag->set(options_, value);
  }
}

void Parser::check_operands() {
  const bool needs_name = verb_->operand == "NAME";
  const bool takes_one = !verb_->operand.empty();
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const auto text = escaped(operands_[i], 64);
    if (operands_[i].size() > 1 && operands_[i][0] == '-' &&
        !(separated_ && verb_->verb != Verb::run))
      throw wrong("unknown option '" + text + "'");
    if (i == 0 && takes_one) continue;
    if (verb_->verb == Verb::run)
      throw wrong("'" + text + "' is one word too many; the command comes behind --");
    throw wrong("'" + text + "' is one word too many");
  }
  if (needs_name && operands_.empty()) throw wrong("the name is missing");
  if (!operands_.empty()) options_.name = operands_[0];
  if (needs_name && options_.name.empty())
    throw bad_usage("the name must not be empty; write 1 to 512 bytes");
  if (options_.name.size() > longest_name)
    throw bad_usage("the name has " + std::to_string(options_.name.size()) +
                    " bytes; write at most 512");
  if (verb_->verb != Verb::run) return;
  if (!separated_) throw wrong("the command is missing; write -- and the command behind the name");
  if (options_.command.empty() || options_.command[0][0] == '\0')
    throw wrong("the command is missing; write it behind --");
}

Options Parser::parse() {
  if (!rest_.empty() && std::string_view(rest_[0]) == "lab") {
    options_.verb = Verb::lab;
    options_.command = rest_;
    return options_;
  }
  while (!rest_.empty()) {
    const std::string_view argument = rest_[0];
    rest_ = rest_.subspan(1);
    if (argument == "--") {
      separated_ = true;
      break;
    }
    if (argument == "--help" || argument == "-h")
      wants_help_ = true;
    else if (argument == "--version")
      operands_.insert(operands_.begin(), "version");
    else if (argument.starts_with("--"))
      read_flag(argument);
    else
      operands_.push_back(argument);
  }
  choose_verb();
  if (wants_help_) {
    options_.verb = Verb::help;
    options_.name = verb_ ? verb_->name : "";
    return options_;
  }
  if (verb_->verb == Verb::lab) throw bad_usage("lab comes first; write holdfast lab …");
  if (verb_->verb == Verb::run)
    options_.command = rest_;
  else
    operands_.insert(operands_.end(), rest_.begin(), rest_.end());
  check_flags();
  check_operands();
  return options_;
}

}  // namespace

Options parse(std::span<char*> arguments) { return Parser(arguments).parse(); }

std::string help_text(std::string_view topic) {
  const auto padded = [](std::string_view text, std::size_t width) {
    std::string cell = "  " + std::string(text);
    return cell.append(cell.size() < width ? width - cell.size() : 1, ' ');
  };
  if (topic.empty()) {
    std::string text = "holdfast: distributed locks over the stores that you already run\n\n";
    for (const auto& verb : verbs)
      text += padded(std::string(verb.name) + " " + std::string(verb.operand), 20) +
              std::string(verb.help) + "\n";
    return text + std::string(last_words);
  }
  const auto* verb = find_verb(topic);
  if (!verb)
    throw bad_usage("there is no command '" + escaped(topic, 64) + "'; see: holdfast help");
  std::string text = "usage: " + usage_of(*verb) + "\n\n  " + std::string(verb->help) + "\n\n";
  for (const auto& flag : flags)
    if ((flag.verbs & bit(verb->verb)) != 0)
      text += padded(spelled(flag), 24) + std::string(flag.help) + "\n";
  return text;
}

}  // namespace holdfast::cli
