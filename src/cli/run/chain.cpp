#include "cli/run/chain.hpp"

#include <charconv>
#include <cstdlib>

#include "cli/failure.hpp"
#include "cli/text.hpp"

namespace holdfast::cli {
namespace {

Failure tampered() {
  return bad_configuration("HOLDFAST_HELD is not what holdfast run wrote; unset it");
}

// Cuts the first part off `rest`.
std::string_view next_part(std::string_view& rest, char separator) {
  const auto end = std::min(rest.find(separator), rest.size());
  const auto part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::string decoded(std::string_view text) {
  auto bytes = percent_decoded(text);
  if (!bytes || bytes->empty()) throw tampered();
  return *bytes;
}

}  // namespace

Chain Chain::from_environment() {
  Chain chain;
  const char* text = std::getenv("HOLDFAST_HELD");
  if (!text || !*text) return chain;
  std::string_view rest = text;
  chain.store_ = decoded(next_part(rest, ' '));
  while (!rest.empty()) {
    auto fields = next_part(rest, ' ');
    Entry entry;
    entry.name = decoded(next_part(fields, '='));
    const auto token = next_part(fields, '=');
    const auto read = std::from_chars(token.data(), token.data() + token.size(), entry.token.value);
    if (read.ec != std::errc() || read.ptr != token.data() + token.size()) throw tampered();
    entry.side = decoded(fields);
    chain.entries_.push_back(std::move(entry));
  }
  if (chain.entries_.empty()) throw tampered();
  return chain;
}

const Chain::Entry* Chain::find(const std::string& name) const noexcept {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
    if (entry->name == name) return &*entry;
  return nullptr;
}

void Chain::add(const std::string& store, Entry entry) {
  store_ = store;
  entries_.push_back(std::move(entry));
}

std::string Chain::to_environment() const {
  std::string text = percent_encoded(store_);
  for (const auto& entry : entries_)
    text += " " + percent_encoded(entry.name) + "=" + std::to_string(entry.token.value) + "=" +
            percent_encoded(entry.side);
  return text;
}

std::string side_of(const Options& options) {
  switch (options.side) {
    case Side::exclusive: return "exclusive";
    case Side::shared: return "shared";
    case Side::permits: break;
  }
  return std::to_string(options.permits) + "/" + std::to_string(options.capacity);
}

bool covers(const std::string& outer, const Options& options) {
  if (outer == side_of(options)) return true;
  return outer == "exclusive" && options.side == Side::shared;
}

}  // namespace holdfast::cli
