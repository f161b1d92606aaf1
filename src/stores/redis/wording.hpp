// stores/redis/wording.hpp: requests as calls of our scripts, and what their replies mean.
//
// `write_…` appends one command: EVALSHA, or EVAL with the whole text (`by_text`) for a server that
// answered NOSCRIPT. `read_…` takes a reply that is not an error (errors: trouble.hpp). A reply of
// an unexpected shape is read as `unknown`, corrupt, "protocol".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/backend.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::stores::redis {

inline constexpr std::size_t most_in_batch = 100;  // keeps or drops in one call

// How one store was opened.
struct Setting {
  bool cluster = false;
  bool string_dialect = false;
  bool guard = false;
  Millis guard_ttl{60'000};
  Millis keep{std::chrono::hours(1)};  // how long a name is kept after its last use
  std::string channel;                 // where this process listens: at most 255 bytes
};

// The key of a name; in a Cluster it decides the node.
std::string key_of(std::string_view name, const Setting& setting);

// ── claims ───────────────────────────────────────────────────────────────────────────────────────
// `run_id` is the server's, from INFO; only the guard uses it. In a Cluster, all keys of a batch
// must be in one slot.
void write_ask(std::string& out, const Ask& ask, const Setting& setting, std::string_view run_id,
               bool queue, bool by_text);
void write_renew(std::string& out, std::span<const Keep> keeps, const Setting& setting,
                 std::string_view run_id, bool by_text);
void write_release(std::string& out, std::span<const Drop> drops, const Setting& setting,
                   std::string_view run_id, bool by_text);
void write_revoke(std::string& out, std::string_view name, bool now, const Setting& setting,
                  std::string_view run_id, bool by_text);
void write_describe(std::string& out, std::string_view name, const Setting& setting, bool by_text);

Answer read_ask(const Reply& reply, std::string_view name);
void read_renew(const Reply& reply, std::span<Answer> answers);
// False: it was done, but this user may not notify the next in line.
bool read_release(const Reply& reply, std::span<Answer> answers);
Answer read_revoke(const Reply& reply);
// Holders, then waiters. False if the reply has an unexpected shape.
bool read_describe(const Reply& reply, std::string_view name, std::vector<Holder>& holders);

// ── the amnesia guard ────────────────────────────────────────────────────────────────────────────
enum class Marking : std::uint8_t {
  first,  // `holdfast init --new`: no quarantine if this server has no marker yet
  touch,  // as in every other script: if missing or of another run, a quarantine begins
  look,   // changes nothing
};
void write_mark(std::string& out, std::string_view marker, const Setting& setting,
                std::string_view run_id, Marking marking, bool by_text);
struct Mark {
  bool ours = false;     // the marker exists, and is of this run
  Millis quarantine{0};  // how much of it is left
  std::int64_t store_us = 0;
};
bool read_mark(const Reply& reply, Mark& mark);

// ── cells ────────────────────────────────────────────────────────────────────────────────────────
void write_add(std::string& out, const Add& add, bool by_text);
void write_swap(std::string& out, const Swap& swap, bool by_text);
void write_get(std::string& out, std::string_view name, bool by_text);
Cell read_cell(const Reply& reply);

// ── messages ─────────────────────────────────────────────────────────────────────────────────────
struct Message {
  enum class What : std::uint8_t { granted, gone };
  What what{};
  std::string name;
  ClaimId claim{};
  Answer answer;  // granted: yes, with number, ttl and store_us
};
// Reads the payload of a message on our channel; false if it is not a message of holdfast.
bool read_message(std::string_view payload, Message& message);

}  // namespace holdfast::stores::redis
