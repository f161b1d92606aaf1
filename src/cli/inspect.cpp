#include "cli/inspect.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <vector>

#include "cli/duration.hpp"
#include "cli/failure.hpp"
#include "cli/holders.hpp"
#include "cli/location.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"
#include "holdfast/holdfast.hpp"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr Millis shortest_rest = 500ms;  // of watch, between two listings
constexpr Millis long_time = 300ms;

using Row = std::array<std::string, 6>;

Row row_of(const Holder& holder) {
  const auto span = [](const std::optional<Millis>& time) {
    return time ? spoken(*time) : std::string("-");
  };
  return {escaped(holder.name),
          holder.waits ? "-" : std::to_string(holder.token.value),
          holder.waits ? "waits" : "holds",
          span(holder.held_for),
          span(holder.ttl_left),
          escaped(holder.who)};
}

std::string table_of(const std::vector<Holder>& holders) {
  std::vector<Row> rows{{"NAME", "TOKEN", "STATE", "FOR", "TTL LEFT", "WHO"}};
  for (const auto& holder : holders) rows.push_back(row_of(holder));
  std::array<std::size_t, 6> widths{};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], shown_width(row[i]));
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      text += row[i] + std::string(widths[i] - shown_width(row[i]) + 2, ' ');
    text += row.back() + "\n";
  }
  return text;
}

// One line per fact: its word and its text.
std::string list_of(std::vector<Fact> facts, const std::string& url) {
  facts.insert(facts.begin(), {"store", url});
  std::size_t width = 0;
  for (const auto& fact : facts) width = std::max(width, shown_width(escaped(fact.word)));
  std::string text;
  for (const auto& fact : facts) {
    const auto word = escaped(fact.word);
    text += word + std::string(width - shown_width(word) + 2, ' ') + escaped(fact.text) + "\n";
  }
  return text;
}

std::string json_of_facts(const std::vector<Fact>& facts) {
  std::string text;
  for (const auto& [word, what] : facts)
    text += (text.empty() ? "" : ",") + JsonObject().text("word", word).text("text", what).str();
  return text;
}

// Identifies a claim across listings: a grant keeps its token, a waiter its name.
using Key = std::tuple<std::string, std::string, std::uint64_t, bool>;
using Snapshot = std::multimap<Key, Holder>;

Snapshot snapshot_of(const std::vector<Holder>& holders) {
  Snapshot snapshot;
  for (const auto& holder : holders)
    snapshot.emplace(Key{holder.name, holder.who, holder.token.value, holder.waits}, holder);
  return snapshot;
}

void print_change(const Holder& holder, bool came, bool json) {
  const char* change =
      came ? (holder.waits ? "waits" : "holds") : (holder.waits ? "left" : "ended");
  if (json) return print(json_of(holder, change) + "\n");
  auto line = std::string(change) + " '" + escaped(holder.name) + "' " + escaped(holder.who);
  if (!holder.waits) line += " token " + std::to_string(holder.token.value);
  print(line + "\n");
}

// Prints ends before arrivals, so that a handover reads in its order.
void print_changes(const Snapshot& before, const Snapshot& now, bool json) {
  for (const auto& [key, holder] : before)
    if (now.count(key) < before.count(key)) print_change(holder, false, json);
  for (const auto& [key, holder] : now)
    if (before.count(key) < now.count(key)) print_change(holder, true, json);
}

Store open_store(const Options& options) { return open(locate(options).url).value(); }

// At a terminal, shows its progress if the listing takes long.
std::vector<Holder> list(const Store& store, const std::string& prefix) {
  if (!is_terminal(STDOUT_FILENO) || !is_terminal(STDERR_FILENO)) return store.list(prefix).value();
  const auto began = std::chrono::steady_clock::now();
  bool shown = false;
  auto listed = store.list(prefix, [&](std::uint64_t keys) {
    shown |= std::chrono::steady_clock::now() - began >= long_time;
    if (shown) show_status("looked at " + std::to_string(keys) + " keys");
    return true;
  });
  if (shown) show_status({});
  return std::move(listed).value();
}

}  // namespace

int ls(const Options& options) {
  const auto store = open_store(options);
  const auto holders = list(store, options.name);
  print(options.json ? "[" + json_of(holders) + "]\n" : table_of(holders));
  return exit_code::ok;
}

int show(const Options& options) {
  const auto store = open_store(options);
  const auto found = store.holders(options.name).value();
  std::vector<Fact> facts;
  if (options.verbose) facts = store.inspect().value();
  if (!options.json && found.empty()) {
    print("'" + escaped(options.name) + "' is free\n");
  } else if (!options.json) {
    print(table_of(found));
  } else {
    std::vector<Holder> holding;
    std::vector<Holder> waiting;
    for (const auto& holder : found) (holder.waits ? waiting : holding).push_back(holder);
    JsonObject object;
    object.bytes("name", options.name).flag("held", !holding.empty());
    object.array("holders", json_of(holding)).array("waiting", json_of(waiting));
    if (options.verbose) object.text("store", store.url()).array("facts", json_of_facts(facts));
    print(object.str() + "\n");
  }
  if (options.verbose && !options.json) print("\n" + list_of(facts, store.url()));
  return exit_code::ok;
}

int watch(const Options& options) {
  const auto store = open_store(options);
  const bool redraws = is_terminal(STDOUT_FILENO) && !options.json;
  Snapshot before;
  for (;;) {
    const auto began = std::chrono::steady_clock::now();
    const auto listed = store.list(options.name, [](std::uint64_t) { return is_read(); });
    const auto took = std::chrono::ceil<Millis>(std::chrono::steady_clock::now() - began);
    rest_while_read(Millis(0));
    const auto& holders = listed.value();
    if (redraws) {
      print("\033[H\033[J" + table_of(holders));
    } else {
      auto now = snapshot_of(holders);
      print_changes(before, now, options.json);
      before = std::move(now);
    }
    // So watch keeps the store busy for at most half of the time.
    rest_while_read(std::max(shortest_rest, took));
  }
}

}  // namespace holdfast::cli
