#include "stores/sqlite/ledger.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "stores/sqlite/trouble.hpp"

namespace holdfast::stores::sqlite {
namespace {

using namespace std::chrono_literals;
using core::Admission;

constexpr std::int64_t hour_us = std::chrono::microseconds(1h).count();
constexpr std::int64_t kept_us = 25 * hour_us;  // a day; `used_us` may be an hour old
constexpr std::string_view floor_key = "floor";

[[noreturn]] void damaged() { throw SqlFailure{SQLITE_CORRUPT, 0}; }

template <class Enum>
Enum enum_of(std::int64_t value, Enum last) {
  if (value < 0 || value > static_cast<std::int64_t>(last)) damaged();
  return static_cast<Enum>(value);
}

std::uint32_t weight_of(std::int64_t value) {
  if (value < 1 || value > UINT32_MAX) damaged();
  return static_cast<std::uint32_t>(value);
}

ClaimId claim_of(std::string_view bytes) {
  ClaimId claim;
  if (bytes.size() != claim.size()) damaged();
  std::copy(bytes.begin(), bytes.end(), claim.begin());
  return claim;
}

Admission::Entry entry_of(const Statement::Rows& row) {
  Admission::Entry entry;
  entry.change = Admission::Change::none;
  entry.position = row.number(0);
  entry.claim = claim_of(row.bytes(1));
  entry.standing = enum_of(row.number(2), Admission::Standing::ended);
  entry.revoked = row.number(3) != 0;
  entry.weight = weight_of(row.number(4));
  entry.number = static_cast<std::uint64_t>(row.number(5));
  entry.ttl_us = row.number(6);
  entry.since_us = row.number(7);
  entry.expires_us = row.number(8);
  entry.lock_delay_us = row.number(9);
  entry.party.place = static_cast<std::uint64_t>(row.number(10));
  entry.party.nonce = static_cast<std::uint64_t>(row.number(11));
  entry.about = row.bytes(12).substr(0, 1024);
  return entry;
}

}  // namespace

Ledger::Ledger(Database& database)
    : database_(database),
      load_name_(database.handle(),
                 "SELECT kind, capacity, number, used_us FROM names WHERE name = ?"),
      load_claims_(database.handle(),
                   "SELECT position, id, standing, revoked, weight, number, ttl_us, since_us, "
                   "expires_us, lock_delay_us,"
                   " slot, nonce, about FROM claims WHERE name = ? ORDER BY position"),
      add_name_(database.handle(), "INSERT INTO names VALUES (?, ?, ?, ?, ?)"),
      change_name_(database.handle(),
                   "UPDATE names SET kind = ?, capacity = ?, number = ? WHERE name = ?"),
      touch_name_(database.handle(), "UPDATE names SET used_us = ? WHERE name = ?"),
      remove_name_(database.handle(), "DELETE FROM names WHERE name = ?"),
      old_names_(database.handle(),
                 "SELECT name FROM names WHERE used_us < ? ORDER BY used_us LIMIT 2"),
      add_claim_(database.handle(),
                 "INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      change_claim_(
          database.handle(),
          "UPDATE claims SET standing = ?, revoked = ?, weight = ?, number = ?, ttl_us = ?, "
          "since_us = ?,"
          " expires_us = ?, slot = ?, nonce = ?, about = ? WHERE name = ? AND position = ?"),
      remove_claim_(database.handle(), "DELETE FROM claims WHERE name = ? AND position = ?"),
      list_names_(database.handle(),
                  "SELECT DISTINCT name FROM claims WHERE name >= ? ORDER BY name LIMIT ?"),
      load_cell_(database.handle(),
                 "SELECT number, version, bytes, expiry_ms, expires_us FROM cells WHERE name = ?"),
      save_cell_(database.handle(), "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?)"),
      old_cells_(database.handle(),
                 "DELETE FROM cells WHERE name IN (SELECT name FROM cells WHERE expires_us > 0 AND "
                 "expires_us < ?"
                 " ORDER BY expires_us LIMIT 2)"),
      load_meta_(database.handle(), "SELECT value FROM meta WHERE key = CAST(? AS TEXT)"),
      save_meta_(database.handle(),
                 "INSERT OR REPLACE INTO meta VALUES (CAST(? AS TEXT), CAST(? AS TEXT))") {}

Ledger::Line Ledger::load(std::string_view name) {
  Line line;
  Admission::Head head;
  if (auto row = load_name_.rows(name); row.next()) {
    line.known = true;
    head.kind = enum_of(row.number(0), Kind::semaphore);
    head.capacity = weight_of(row.number(1));
    head.number = static_cast<std::uint64_t>(row.number(2));
    line.used_us = row.number(3);
  } else {
    head.number = floor();
  }
  std::vector<Admission::Entry> entries;
  for (auto row = load_claims_.rows(name); row.next();) entries.push_back(entry_of(row));
  line.admission = Admission(head, std::move(entries));
  return line;
}

void Ledger::save(std::string_view name, Line& line, std::int64_t now_us) {
  save_claims(name, line.admission);
  save_head(name, line, now_us);
  line.admission.saved();
}

void Ledger::save_head(std::string_view name, Line& line, std::int64_t now_us) {
  const Admission::Head& head = line.admission.head();
  const bool changed = line.admission.head_changed();
  const auto kind = static_cast<int>(head.kind);
  if (!line.known) {
    if (!changed && line.admission.entries().empty()) return;
    add_name_.run(name, kind, head.capacity, head.number, now_us);
    sweep_names(now_us);
    return;
  }
  if (changed) change_name_.run(kind, head.capacity, head.number, name);
  if (now_us - line.used_us > hour_us) touch_name_.run(now_us, name);
}

void Ledger::save_claims(std::string_view name, const Admission& line) {
  for (const std::int64_t position : line.removed()) remove_claim_.run(name, position);
  for (const Admission::Entry& entry : line.entries()) {
    const auto standing = static_cast<int>(entry.standing);
    const std::string_view about = std::string_view(entry.about).substr(0, 1024);
    if (entry.change == Admission::Change::fresh)
      add_claim_.run(name, entry.position, entry.claim, standing, entry.revoked, entry.weight,
                     entry.number, entry.ttl_us, entry.since_us, entry.expires_us,
                     entry.lock_delay_us, entry.party.place, entry.party.nonce, about);
    else if (entry.change == Admission::Change::changed)
      change_claim_.run(standing, entry.revoked, entry.weight, entry.number, entry.ttl_us,
                        entry.since_us, entry.expires_us, entry.party.place, entry.party.nonce,
                        about, name, entry.position);
  }
}

void Ledger::sweep_names(std::int64_t now_us) {
  std::vector<std::string> old;
  for (auto row = old_names_.rows(now_us - kept_us); row.next();) old.emplace_back(row.bytes(0));
  for (const std::string& name : old) {
    Line line = load(name);
    line.admission.expire(now_us);
    if (line.admission.idle()) {
      save_claims(name, line.admission);
      raise_floor(line.admission.head().number);
      remove_name_.run(name);
    } else {
      save(name, line, now_us);
    }
  }
}

std::uint64_t Ledger::floor() {
  auto row = load_meta_.rows(floor_key);
  if (!row.next()) return 0;
  const std::string_view text = row.bytes(0);
  std::uint64_t floor = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), floor);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) damaged();
  return floor;
}

void Ledger::raise_floor(std::uint64_t number) {
  if (number > floor()) set_meta(floor_key, std::to_string(number));
}

std::vector<std::string> Ledger::names_with_claims(std::string_view prefix, std::string_view from,
                                                   std::size_t most) {
  std::vector<std::string> names;
  for (auto row = list_names_.rows(from, most); row.next() && row.bytes(0).starts_with(prefix);)
    names.emplace_back(row.bytes(0));
  return names;
}

std::optional<CellState> Ledger::load_cell(std::string_view name) {
  auto row = load_cell_.rows(name);
  if (!row.next()) return std::nullopt;
  return CellState{row.number(0), static_cast<std::uint64_t>(row.number(1)),
                   std::string(row.bytes(2)), Millis(row.number(3)), row.number(4)};
}

void Ledger::save_cell(std::string_view name, const CellState& cell, std::int64_t now_us) {
  save_cell_.run(name, cell.number, cell.version, cell.bytes, cell.expiry.count(), cell.expires_us);
  old_cells_.run(now_us);
}

std::string Ledger::meta(std::string_view key) {
  auto row = load_meta_.rows(key);
  return row.next() ? std::string(row.bytes(0)) : std::string();
}

void Ledger::set_meta(std::string_view key, std::string_view value) { save_meta_.run(key, value); }

// Each promised length of time begins again: longer than promised, never shorter.
void Ledger::forget_time(std::int64_t now_us) {
  Statement names(database_.handle(), "UPDATE names SET used_us = ?");
  names.run(now_us);
  database_.run("DELETE FROM claims WHERE standing NOT IN (1, 3) OR lock_delay_us = 0");
  Statement delays(database_.handle(),
                   "UPDATE claims SET standing = 3, revoked = 0, expires_us = ? + lock_delay_us,"
                   " slot = 0, nonce = 0, about = x''");
  delays.run(now_us);
  Statement cells(database_.handle(),
                  "UPDATE cells SET expires_us = ?1 + expiry_ms * 1000 WHERE expires_us > 0");
  cells.run(now_us);
}

void Ledger::forget_lives() { database_.run("UPDATE claims SET slot = 0, nonce = 0"); }

}  // namespace holdfast::stores::sqlite
