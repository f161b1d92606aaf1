// Tells who holds what, and what the store is like.
#include <algorithm>
#include <charconv>

#include "core/text.hpp"
#include "stores/etcd/store.hpp"

namespace holdfast::stores::etcd {
namespace {

constexpr std::int64_t page = 1000;          // keys
constexpr std::size_t most_ttls_told = 256;  // each costs a request

// True if this version ("3.4.23") lacks the fix of etcd #15247, which 3.4.31 and 3.5.13 brought.
bool may_end_leases_early(std::string_view version) {
  int parts[3] = {};
  for (int& part : parts) {
    const auto read = std::from_chars(version.data(), version.data() + version.size(), part);
    version.remove_prefix(static_cast<std::size_t>(read.ptr - version.data()));
    if (version.starts_with('.')) version.remove_prefix(1);
  }
  if (parts[0] != 3) return parts[0] < 3;
  return parts[1] < 4 || (parts[1] == 4 && parts[2] < 31) || (parts[1] == 5 && parts[2] < 13);
}

}  // namespace

// ── who holds what ───────────────────────────────────────────────────────────────────────────────

struct EtcdStore::Told {
  Listing listing;
  std::vector<std::int64_t> leases;  // of each holder, in the same order
};

void EtcdStore::describe(std::string_view name, Pending<Listing>& call) noexcept {
  courier_.start(call, [&](auto ticket) {
    answer_describe(std::string(name), in_time(call), std::move(ticket));
  });
}

Flow EtcdStore::answer_describe(std::string name, BootTime deadline, Ticket<Listing> ticket) {
  const std::string where = layout_.prefix(name);
  Found found = co_await client_.find(where, end_of(where), 0, deadline);
  Told told;
  if (!found.done()) {
    told.listing.problem = found.problem;
    co_return ticket->answer(std::move(told.listing));
  }
  // Keys of other names may lie under this prefix.
  std::erase_if(found.all, [&](const KeyValue& kv) { return layout_.prefix_in(kv) != where; });
  add_line(where, found.all, told);
  co_await tell_time_left(told, deadline);
  ticket->answer(std::move(told.listing));
}

void EtcdStore::list(std::string_view prefix, Pending<Listing>& call) noexcept {
  courier_.start(call, [&](auto ticket) {
    answer_list(std::string(prefix), in_time(call), std::move(ticket));
  });
}

Flow EtcdStore::answer_list(std::string prefix, BootTime deadline, Ticket<Listing> ticket) {
  Told told;
  std::string from = layout_.all(prefix);
  const std::string end = end_of(from);
  if (from.empty()) from.push_back('\0');
  std::map<std::string, std::vector<KeyValue>> rows;
  std::uint64_t looked_at = 0;
  for (bool more = true; more;) {
    Found found = co_await client_.find(from, end, page, deadline);
    if (!found.done()) {
      told.listing.problem = found.problem;
      co_return ticket->answer(std::move(told.listing));
    }
    deadline = in_time(ticket->looked_at(looked_at += found.all.size()));
    more = found.more && !found.all.empty();
    if (more) from = found.all.back().key + '\0';
    for (KeyValue& kv : found.all)
      if (const auto where = layout_.prefix_in(kv); !where.empty())
        rows[where].push_back(std::move(kv));
  }
  for (const auto& [where, keys] : rows) add_line(where, keys, told);
  co_await tell_time_left(told, deadline);
  ticket->answer(std::move(told.listing));
}

void EtcdStore::add_line(const std::string& where, const std::vector<KeyValue>& keys,
                         Told& told) const {
  const auto name = layout_.name_in(where);
  if (!name) return;
  const Row row = layout_.read(where, keys);
  const std::size_t in = row.in();
  for (std::size_t place = 0; place < row.line.size(); ++place) {
    told.listing.holders.push_back(describe(*name, row.line[place], place >= in));
    told.leases.push_back(row.line[place].lease);
  }
}

Later<bool> EtcdStore::tell_time_left(Told& told, BootTime deadline) {
  std::vector<Later<LeaseLeft>> asked;
  for (std::size_t i = 0; i < std::min(told.leases.size(), most_ttls_told); ++i)
    asked.push_back(client_.time_left(told.leases[i], deadline));
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (const LeaseLeft left = co_await asked[i]; left.done() && left.left.count() >= 0)
      told.listing.holders[i].ttl_left = left.left;
  co_return true;
}

// ── about the store ──────────────────────────────────────────────────────────────────────────────

void EtcdStore::guarantees(Pending<holdfast::Promise>& call) noexcept {
  courier_.start(call, [&](auto ticket) { answer_guarantees(in_time(call), std::move(ticket)); });
}

Flow EtcdStore::answer_guarantees(BootTime deadline, Ticket<Promise> ticket) {
  Promise promise;
  Guarantees& all = promise.guarantees;
  all.purpose = Purpose::correctness;
  all.tokens = all.fifo = true;
  all.survives_restart = all.survives_power_loss = all.survives_clock_jump = true;
  all.because.emplace_back("a majority of its members writes each step to disk before it counts");
  all.because.emplace_back("its clocks are monotonic; a new leader gives each lease its full time");
  const Members members = co_await client_.members(deadline);
  if (!members.done()) {
    promise.problem = members.problem;
    co_return ticket->answer(std::move(promise));
  }
  const std::size_t count = members.names.size();
  all.because.push_back(
      count < 3 ? std::to_string(count) + " member: while it is away nobody is let in"
                : std::to_string(count) + " members: " + std::to_string((count - 1) / 2) +
                      " of them may be away");
  bool early = false;
  for (std::size_t member = 0; member < options_.addresses.size(); ++member) {
    const ServerStatus status = co_await client_.status(member, deadline);
    early |= status.done() && may_end_leases_early(status.version);
  }
  if (early)
    all.because.emplace_back(
        "before 3.4.31 and 3.5.13 a stuck leader can end a lease early (etcd #15247): lost() "
        "tells, "
        "and tokens protect");
  all.because.emplace_back(
      "restoring a snapshot takes its tokens back, unless by --bump-revision and --mark-compacted");
  ticket->answer(std::move(promise));
}

// There is nothing to prepare; this only checks that the cluster answers.
void EtcdStore::init(Init, Pending<Answer>& call) noexcept {
  courier_.start(call, [&](auto ticket) { answer_init(in_time(call), std::move(ticket)); });
}

Flow EtcdStore::answer_init(BootTime deadline, Ticket<Answer> ticket) {
  const Found found = co_await client_.find(layout_.prefix({}), {}, 1, deadline);
  Answer answer;
  answer.said = found.done() ? Said::yes : Said::no;
  if (!found.done()) answer.problem = found.problem;
  ticket->answer(std::move(answer));
}

void EtcdStore::inspect(Pending<Inspection>& call) noexcept {
  courier_.start(call, [&](auto ticket) { answer_inspect(in_time(call), std::move(ticket)); });
}

Flow EtcdStore::answer_inspect(BootTime deadline, Ticket<Inspection> ticket) {
  Inspection inspection;
  const auto tell = [&](const char* word, std::string text) {
    inspection.facts.push_back({word, std::move(text)});
  };
  tell("tls", !options_.tls.on      ? "off"
              : options_.tls.verify ? "on; certificates are checked"
                                    : "on; certificates are not checked: insecure=on");
  const Members members = co_await client_.members(deadline);
  if (!members.done()) {
    inspection.problem = members.problem;
    co_return ticket->answer(std::move(inspection));
  }
  std::string names;
  for (const std::string& name : members.names)
    names += (names.empty() ? "" : " ") + core::escaped(name);
  tell("members", names);
  for (std::size_t member = 0; member < options_.addresses.size(); ++member) {
    const ServerStatus status = co_await client_.status(member, deadline);
    tell("server", options_.addresses[member]);
    if (!status.done()) {
      tell("role", "not reached: " + status.problem.text);
      continue;
    }
    tell("version", core::escaped(status.version));
    tell("role", status.leads ? "leader" : status.follows ? "follower" : "without a leader");
    tell("size", std::to_string(status.size >> 10) + " KiB");
  }
  const Alarms alarms = co_await client_.alarms(deadline);
  if (alarms.done())
    tell("alarms", alarms.no_space ? "NOSPACE" : alarms.corrupt ? "CORRUPT" : "none");
  ticket->answer(std::move(inspection));
}

}  // namespace holdfast::stores::etcd
