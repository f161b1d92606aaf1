#include "lab/history.hpp"

#include <array>
#include <cstdio>

namespace holdfast::lab {
namespace {

constexpr std::array words{
    "ask",      "granted",      "refused",       "cancel",        "renewed",     "lost",
    "believes", "doubts",       "release",       "released",      "write",       "accepted",
    "rejected", "store_queued", "store_granted", "store_renewed", "store_ended", "pause",
    "resume",   "crash",        "restart",       "cut",           "heal",        "forget",
    "failover", "jump",         "drift",         "calm",          "sent",        "arrived",
    "vanished", "left",         "note"};
static_assert(words.size() == static_cast<std::size_t>(What::note) + 1);

// FNV-1a over the values, not over the bytes of the struct, because the struct has padding.
class Hash {
 public:
  void add(std::uint64_t value) noexcept {
    for (int i = 0; i < 8; ++i, value >>= 8) byte(static_cast<unsigned char>(value));
  }
  void add(std::string_view text) noexcept {
    for (const char c : text) byte(static_cast<unsigned char>(c));
    byte(0);
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  void byte(unsigned char byte) noexcept { value_ = (value_ ^ byte) * 0x100000001b3; }
  std::uint64_t value_ = 0xcbf29ce484222325;
};

void append(std::string& out, const char* label, std::uint64_t value) {
  out.append(label).append(std::to_string(value));
}

}  // namespace

std::string_view to_string(What what) noexcept { return words.at(static_cast<std::size_t>(what)); }

std::uint64_t History::hash() const noexcept {
  Hash hash;
  for (const Event& event : events_) {
    hash.add(static_cast<std::uint64_t>(event.at));
    hash.add(static_cast<std::uint64_t>(event.what) << 1 | (event.flag ? 1U : 0U));
    hash.add(static_cast<std::uint64_t>(static_cast<std::uint16_t>(event.process)) << 32 |
             static_cast<std::uint64_t>(static_cast<std::uint16_t>(event.node)) << 16 | event.name);
    hash.add(static_cast<std::uint64_t>(event.weight) << 32 | event.capacity);
    hash.add(event.op);
    hash.add(event.claim);
    hash.add(event.token);
    hash.add(static_cast<std::uint64_t>(event.until));
    hash.add(event.owner);
    hash.add(std::string_view(event.note));
  }
  return hash.value();
}

const char* History::keep(std::string_view word) {
  if (word.empty()) return "";
  if (!words_) words_ = std::make_shared<std::set<std::string, std::less<>>>();
  return words_->emplace(word).first->c_str();
}

std::string History::text() const {
  std::string out;
  for (const Event& event : events_) {
    std::array<char, 80> head{};
    std::snprintf(head.data(), head.size(), "%14.6f ms  %-13s", static_cast<double>(event.at) / 1e6,
                  words.at(static_cast<std::size_t>(event.what)));
    out += head.data();
    if (event.process != nobody)
      append(out, "  process ", static_cast<std::uint64_t>(event.process));
    if (event.node != nobody) append(out, "  node ", static_cast<std::uint64_t>(event.node));
    if (event.op) append(out, "  acquire ", event.op);
    if (event.op || event.claim) append(out, "  lock ", event.name);
    if (event.capacity > 1) {
      append(out, "  weight ", event.weight);
      append(out, " of ", event.capacity);
    }
    if (event.claim) append(out, "  claim ", event.claim);
    if (event.token) append(out, "  token ", event.token);
    if (event.until) {
      std::array<char, 40> until{};
      std::snprintf(until.data(), until.size(), "  until %.6f ms",
                    static_cast<double>(event.until) / 1e6);
      out += until.data();
    }
    if (event.owner) append(out, "  owner ", event.owner);
    if (*event.note != '\0') out.append("  ").append(event.note);
    out += '\n';
  }
  return out;
}

}  // namespace holdfast::lab
