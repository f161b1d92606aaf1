#include "stores/redis/wording.hpp"

#include <algorithm>
#include <chrono>

#include "core/text.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/scripts.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr Millis longest = std::chrono::hours(24 * 400);

std::int64_t span_of(Millis time) { return std::clamp(time, Millis(0), longest).count(); }
std::int64_t ttl_of(Millis ttl) { return std::clamp(ttl, Millis(1), longest).count(); }

std::string_view bytes_of(const ClaimId& claim) {
  return {reinterpret_cast<const char*>(claim.data()), claim.size()};
}

Request call(std::string& out, const Script& script, bool by_text, std::size_t keys,
             std::size_t arguments) {
  Request request(out, 3 + keys + arguments);
  if (by_text) {
    request << "EVAL" << script.text;
  } else {
    request << "EVALSHA" << script.sha;
  }
  request << static_cast<std::int64_t>(keys);
  return request;
}

std::string marker_of(std::string_view key, const Setting& setting) {
  return setting.cluster ? marker_key(slot_of(key)) : marker_key();
}

void append_number(std::string& out, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(number >> shift & 0xff);
}

// What ask.lua writes unchanged if the claim gets the whole lock: the first bytes of the state and
// the last of the record. The card says where to notify the claim, and what others are shown.
std::string state_begin(const Ask& ask) {
  std::string begin = "h\1\1";
  append_number(begin, static_cast<std::uint64_t>(ask.kind), 1);
  append_number(begin, ask.capacity, 4);
  return begin;
}
std::string record_end(const Ask& ask, const Setting& setting) {
  constexpr std::uint64_t held = 2;
  const std::string_view channel = std::string_view(setting.channel).substr(0, 255);
  std::string end;
  end.reserve(38 + channel.size() + ask.about.size());
  end += bytes_of(ask.claim);
  append_number(end, held, 1);
  append_number(end, ask.weight, 4);
  append_number(end, static_cast<std::uint64_t>(ttl_of(ask.ttl)), 8);
  append_number(end, static_cast<std::uint64_t>(span_of(ask.lock_delay)), 8);
  append_number(end, channel.size(), 1);
  end += channel;
  return end += ask.about;
}

void write_string_ask(std::string& out, const Ask& ask, const Setting& setting,
                      std::string_view run_id, bool by_text) {
  const bool replaces = ask.instead_ttl > Millis(0);
  const bool more = setting.guard || replaces;
  Request request =
      call(out, string_ask_script, by_text, setting.guard ? 2 : 1, more ? replaces ? 5 : 4 : 2);
  request << ask.name;
  if (setting.guard) request << marker_of(ask.name, setting);
  request << core::in_hex(ask.claim) << ttl_of(ask.ttl);
  if (more) request << run_id << setting.guard_ttl.count();
  if (replaces) request << core::in_hex(ask.instead);
}

// Starts a call for several locks: keys and marker. The caller adds the arguments.
template <class Item>
Request batch(std::string& out, const Script& script, bool by_text, std::span<const Item> items,
              std::size_t arguments, const Setting& setting) {
  Request request = call(out, script, by_text, items.size() + (setting.guard ? 1 : 0), arguments);
  std::string key;
  for (const Item& item : items) request << (key = lock_key(item.name));
  if (setting.guard) request << marker_of(key, setting);
  return request;
}

}  // namespace

std::string key_of(std::string_view name, const Setting& setting) {
  return setting.string_dialect ? std::string(name) : lock_key(name);
}

void write_ask(std::string& out, const Ask& ask, const Setting& setting, std::string_view run_id,
               bool queue, bool by_text) {
  if (setting.string_dialect) return write_string_ask(out, ask, setting, run_id, by_text);
  const bool replaces = ask.instead_ttl > Millis(0);
  const bool more = setting.guard || replaces;
  const bool is_short = ask.weight == ask.capacity && ask.weight > 0 && !replaces;
  const std::string key = lock_key(ask.name);
  std::string flags;
  if (is_short) flags += 's';
  if (queue) flags += 'q';
  if (!ask.fair) flags += 'u';
  if (setting.cluster) flags += 'c';

  Request request =
      call(out, ask_script, by_text, setting.guard ? 2 : 1, more ? replaces ? 9 : 7 : 5);
  request << key;
  if (setting.guard) request << marker_of(key, setting);
  request << state_begin(ask) << record_end(ask, setting) << ttl_of(ask.ttl) << flags
          << setting.keep.count();
  if (more) request << run_id << setting.guard_ttl.count();
  if (replaces) request << bytes_of(ask.instead) << span_of(ask.instead_ttl);
}

void write_renew(std::string& out, std::span<const Keep> keeps, const Setting& setting,
                 std::string_view run_id, bool by_text) {
  if (setting.string_dialect) {
    Request request = call(out, string_renew_script, by_text, keeps.size(), 2 * keeps.size());
    for (const Keep& keep : keeps) request << keep.name;
    for (const Keep& keep : keeps) request << core::in_hex(keep.claim) << ttl_of(keep.ttl);
    return;
  }
  Request request =
      batch(out, renew_script, by_text, keeps, 3 * keeps.size() + (setting.guard ? 4 : 2), setting);
  for (const Keep& keep : keeps)
    request << bytes_of(keep.claim) << static_cast<std::int64_t>(keep.weight) << ttl_of(keep.ttl);
  if (setting.guard) request << run_id << setting.guard_ttl.count();
  constexpr std::string_view flags[] = {"", "c", "g", "gc"};
  request << setting.keep.count() << flags[(setting.guard ? 2 : 0) + (setting.cluster ? 1 : 0)];
}

void write_release(std::string& out, std::span<const Drop> drops, const Setting& setting,
                   std::string_view run_id, bool by_text) {
  if (setting.string_dialect) {
    Request request = call(out, string_release_script, by_text, drops.size(), drops.size());
    for (const Drop& drop : drops) request << drop.name;
    for (const Drop& drop : drops) request << core::in_hex(drop.claim);
    return;
  }
  Request request = batch(out, release_script, by_text, drops,
                          drops.size() + (setting.guard     ? 4
                                          : setting.cluster ? 2
                                                            : 1),
                          setting);
  std::string claim;
  for (const Drop& drop : drops) {
    claim = bytes_of(drop.claim);
    if (drop.doubtful) claim += std::to_string(span_of(drop.ttl));
    request << claim;
  }
  request << setting.keep.count();
  if (setting.guard || setting.cluster) request << std::string_view(setting.cluster ? "c" : "");
  if (setting.guard) request << run_id << setting.guard_ttl.count();
}

void write_revoke(std::string& out, std::string_view name, bool now, const Setting& setting,
                  std::string_view run_id, bool by_text) {
  if (setting.string_dialect) {
    call(out, string_revoke_script, by_text, 1, 0) << name;
    return;
  }
  const std::string key = lock_key(name);
  std::string flags;
  if (now) flags += 'n';
  if (setting.cluster) flags += 'c';
  Request request = call(out, revoke_script, by_text, setting.guard ? 2 : 1, setting.guard ? 4 : 2);
  request << key;
  if (setting.guard) request << marker_of(key, setting);
  request << flags << setting.keep.count();
  if (setting.guard) request << run_id << setting.guard_ttl.count();
}

void write_describe(std::string& out, std::string_view name, const Setting& setting, bool by_text) {
  const Script& script = setting.string_dialect ? string_describe_script : describe_script;
  call(out, script, by_text, 1, 0) << key_of(name, setting);
}

void write_mark(std::string& out, std::string_view marker, const Setting& setting,
                std::string_view run_id, Marking marking, bool by_text) {
  constexpr std::string_view words[] = {"first", "touch", "look"};
  call(out, mark_script, by_text, 1, 3)
      << marker << run_id << setting.guard_ttl.count() << words[static_cast<int>(marking)];
}

void write_add(std::string& out, const Add& add, bool by_text) {
  call(out, cell_add_script, by_text, 1, 5)
      << cell_key(add.name) << add.by << add.least << add.most << span_of(add.expiry)
      << std::string_view(add.window ? "w" : "");
}

void write_swap(std::string& out, const Swap& swap, bool by_text) {
  call(out, cell_swap_script, by_text, 1, 3)
      << cell_key(swap.name) << std::to_string(swap.if_version) << swap.bytes
      << span_of(swap.expiry);
}

void write_get(std::string& out, std::string_view name, bool by_text) {
  call(out, cell_get_script, by_text, 1, 0) << cell_key(name);
}

}  // namespace holdfast::stores::redis
