#include "stores/sqlite/serving.hpp"

#include <utility>

#include "core/text.hpp"
#include "stores/common/clock.hpp"
#include "stores/sqlite/mounts.hpp"

namespace holdfast::stores::sqlite {
namespace {

constexpr std::size_t names_in_page = 500;  // of a list: other requests run between pages

// A cell that is created again must not match a version that it had before.
std::uint64_t first_version() { return random_number() >> 2 | 1; }

}  // namespace

// Reads the time inside the transaction, so that a later transaction has a later stamp.
Serving::Serving(Session& session, Aftermath& aftermath)
    : session_(session), aftermath_(aftermath), now_us_(now_us()) {}

template <class Step>
Answer Serving::at(std::string_view name, Step&& step) {
  Ledger::Line line = session_.ledger.load(name);
  session_.bury_dead(line.admission, now_us_);
  core::Notices notices;
  Answer answer = step(line.admission, notices);
  session_.ledger.save(name, line, now_us_);
  for (const core::Notice& notice : notices)
    aftermath_.told.push_back(
        {notice.party,
         {notice.what, notice.claim, notice.number, notice.ttl, now_us_, std::string(name)}});
  return answer;
}

void Serving::operator()(const Ask& ask, Answer& reply) {
  reply = at(ask.name, [&](core::Admission& line, core::Notices& notices) {
    Answer answer = line.ask(ask, session_.life.party(), now_us_, notices);
    if (answer.said == Said::queued)
      aftermath_.watched.push_back(
          {std::string(ask.name), ask.claim, line.ahead_of(ask.claim), answer.ttl > Millis(0)});
    else
      aftermath_.unwatched.push_back(ask.claim);
    if (ask.lock_delay > Millis(0) && answer.said != Said::no) {
      aftermath_.delayed.push_back(ask.claim);
      session_.life.beat(now_us_);
    }
    return answer;
  });
}

void Serving::operator()(std::span<const Keep> keeps, Answers& replies) {
  for (std::size_t i = 0; i < keeps.size(); ++i) {
    aftermath_.unwatched.push_back(keeps[i].claim);
    replies[i] = at(keeps[i].name, [&](core::Admission& line, core::Notices& notices) {
      return line.renew(keeps[i], now_us_, notices);
    });
  }
}

void Serving::operator()(std::span<const Drop> drops, Answers& replies) {
  for (std::size_t i = 0; i < drops.size(); ++i) {
    aftermath_.unwatched.push_back(drops[i].claim);
    aftermath_.dropped.push_back(drops[i].claim);
    replies[i] = at(drops[i].name, [&](core::Admission& line, core::Notices& notices) {
      return line.release(drops[i], now_us_, notices);
    });
  }
}

void Serving::operator()(const Revoke& revoke, Answer& reply) {
  reply = at(revoke.name, [&](core::Admission& line, core::Notices& notices) {
    return line.revoke(revoke.now, now_us_, notices);
  });
}

void Serving::add_holders(std::string_view name, Listing& reply) {
  Ledger::Line line = session_.ledger.load(name);
  session_.bury_dead(line.admission, now_us_);
  for (Holder& holder : line.admission.describe(name, now_us_))
    reply.holders.push_back(std::move(holder));
}

void Serving::operator()(const Describe& describe, Listing& reply) {
  add_holders(describe.name, reply);
}

void Serving::operator()(ListNames& list, Listing& reply) {
  if (list.from.empty()) list.from = list.prefix;
  const auto names = session_.ledger.names_with_claims(list.prefix, list.from, names_in_page);
  for (const std::string& name : names) add_holders(name, reply);
  list.names += names.size();
  list.more = names.size() == names_in_page;
  if (list.more) list.from = names.back() + '\0';
}

std::optional<CellState> Serving::cell(std::string_view name) {
  auto state = session_.ledger.load_cell(name);
  if (state && state->expired(now_us_)) state.reset();
  return state;
}

template <class Change>
Cell Serving::change_cell(std::string_view name, Change&& change) {
  auto state = cell(name);
  Cell changed = change(state);
  if (changed.said == Said::yes) session_.ledger.save_cell(name, *state, now_us_);
  return changed;
}

void Serving::operator()(const Add& add, Cell& reply) {
  reply = change_cell(
      add.name, [&](auto& state) { return stores::add(add, state, now_us_, first_version()); });
}

void Serving::operator()(const Swap& swap, Cell& reply) {
  reply = change_cell(
      swap.name, [&](auto& state) { return stores::swap(swap, state, now_us_, first_version()); });
}

void Serving::operator()(const Get& get, Cell& reply) { reply = stores::get(cell(get.name)); }

void Serving::operator()(const CreateMissing&, Answer& reply) {
  reply.said = Said::yes;
  reply.store_us = now_us_;
}

void Serving::operator()(const StateGuarantees&, Promise& reply) {
  Database& database = session_.database;
  const std::string& system = session_.site.file_system();
  const bool synced =
      database.text("PRAGMA synchronous") == "2" && database.text("PRAGMA journal_mode") == "wal";
  Guarantees& given = reply.guarantees;
  given = {.purpose = Purpose::correctness,
           .tokens = true,
           .fifo = true,
           .survives_restart = true,
           .survives_power_loss = synced && !is_volatile(system),
           .survives_clock_jump = true,
           .because = {}};
  given.because.push_back(core::escaped(session_.site.path()) + " lies on " + system +
                          ", a file system of this machine alone");
  given.because.push_back(
      is_volatile(system)
          ? "it is in memory: a power loss takes the file, and its numbers begin anew"
          : "each grant is on the disk (write-ahead log, synchronous = FULL) before it is told");
  given.because.push_back(
      "time is counted on the boot clock, which nobody sets; another boot ends all claims and "
      "keeps the numbers");
  given.because.push_back(
      "a holder that dies is noticed by a lock that the kernel drops, and at its ttl otherwise");
  if (session_.post.descriptor() < 0)
    given.because.push_back("without /proc no messages are sent: waiters ask again and again");
}

void Serving::operator()(const Inspect&, Inspection& reply) {
  Database& database = session_.database;
  reply.facts = {
      {"file", session_.site.path() + " on " + session_.site.file_system()},
      {"journal", database.text("PRAGMA journal_mode") +
                      ", synchronous = " + database.text("PRAGMA synchronous")},
      {"layout", database.text("PRAGMA user_version") + ", by SQLite " + sqlite3_libversion()},
      {"messages", session_.post.descriptor() < 0 ? "none, for there is no /proc" : "by sockets"},
  };
}

}  // namespace holdfast::stores::sqlite
