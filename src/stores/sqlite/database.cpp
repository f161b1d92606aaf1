#include "stores/sqlite/database.hpp"

#include <sched.h>
#include <time.h>

#include <charconv>
#include <string_view>

#include "core/text.hpp"
#include "stores/common/clock.hpp"
#include "stores/sqlite/inherited.hpp"
#include "stores/sqlite/kept_log.hpp"
#include "stores/sqlite/layout.hpp"
#include "stores/sqlite/live.hpp"
#include "stores/sqlite/statement.hpp"
#include "stores/sqlite/trouble.hpp"

namespace holdfast::stores::sqlite {
namespace {

// Small, because the first process to open the file reads all of the log before anything else.
constexpr const char* log_limit = "PRAGMA wal_autocheckpoint = 128";

int number_in(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Database::Database(const Site& site, BootTime deadline)
    : path_(site.path()),
      deadline_(deadline),
      jitter_(static_cast<std::uint32_t>(random_number())) {
  try {
    connect();
    set_up();
  } catch (...) {
    disconnect();
    throw;
  }
}

Database::~Database() { disconnect(); }

void Database::connect() {
  end_inherited();
  // NOMUTEX, because only one thread at a time uses the connection.
  constexpr int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  expect(sqlite3_open_v2(path_.c_str(), &handle_, flags, kept_log_vfs()), handle_);
  enlist(handle_);
  sqlite3_busy_handler(
      handle_,
      [](void* self, int tries) {
        return static_cast<int>(static_cast<Database*>(self)->wait_a_little(tries));
      },
      this);
  // A program that ends leaves the log as it is, and the next writer goes on with it.
  int persist = 1;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

// sqlite3_close_v2 keeps the connection until its last statement ends; ours end after this.
void Database::disconnect() noexcept {
  strike(handle_);
  sqlite3_close_v2(handle_);
}

void Database::set_up() {
  int version = 0;
  {
    Transaction look(*this, Transaction::Mode::read);  // another process may be creating the layout
    version = number_in(text("PRAGMA user_version"));
    check_owner(version);
  }
  if (sqlite3_db_readonly(handle_, "main") != 0) throw SqlFailure{.code = SQLITE_READONLY};
  run("PRAGMA synchronous = FULL");
  run(log_limit);
  if (text("PRAGMA journal_mode") != "wal") use_write_ahead_log();
  if (version < layout_version) migrate();
}

void Database::check_owner(int version) {
  const int owner = number_in(text("PRAGMA application_id"));
  if (owner != application_id &&
      (owner != 0 || version != 0 || text("SELECT count(*) FROM sqlite_schema") != "0"))
    refuse(Errc::corrupt, "foreign_database",
           core::escaped(path_) + " is a database of another program; name another file");
  if (version > layout_version)
    refuse(Errc::corrupt, "newer_schema",
           core::escaped(path_) + " was written by a newer holdfast (layout " +
               std::to_string(version) + ", this one knows " + std::to_string(layout_version) +
               "); upgrade this program, or use another file");
}

// Retries, because SQLite does not wait here for another process that opens the same new file.
void Database::use_write_ahead_log() {
  for (int tries = 0;; ++tries) {
    try {
      if (text("PRAGMA journal_mode = WAL") == "wal") return;
      refuse(Errc::unsupported, "no_wal",
             core::escaped(path_) + " cannot use a write-ahead log here; use another folder");
    } catch (const SqlFailure& failure) {
      if (!failure.is_busy() || !wait_a_little(tries)) throw;
    }
  }
}

void Database::migrate() {
  Transaction transaction(*this, Transaction::Mode::write);
  const int version =
      number_in(text("PRAGMA user_version"));  // another process may have been first
  check_owner(version);
  for (int step = version; step < layout_version; ++step)
    run(layout_steps[static_cast<std::size_t>(step)]);
  run(("PRAGMA application_id = " + std::to_string(application_id)).c_str());
  run(("PRAGMA user_version = " + std::to_string(layout_version)).c_str());
  transaction.commit();
}

void Database::run(const char* sql) {
  expect(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr), handle_);
}

std::string Database::text(const char* sql) {
  Statement statement(handle_, sql);
  auto rows = statement.rows();
  return rows.next() ? std::string(rows.bytes(0)) : std::string();
}

// Others' transactions are short: yields a few times, then looks again a few times per millisecond.
bool Database::wait_a_little(int tries) noexcept {
  const auto left = deadline_ - BootClock::now();
  if (left <= BootClock::duration::zero()) return false;
  if (tries < 4) {
    sched_yield();
    return true;
  }
  jitter_ = jitter_ * 1664525 + 1013904223;
  const std::int64_t pause_ns = 100'000 + static_cast<std::int64_t>(jitter_ >> 8) % 400'000;
  const timespec pause{0, static_cast<long>(std::min<std::int64_t>(pause_ns, left.count()))};
  nanosleep(&pause, nullptr);
  return true;
}

Transaction::Transaction(Database& database, Mode mode) : database_(database) {
  (mode == Mode::write ? database_.begin_write_ : database_.begin_).run();
}

Transaction::~Transaction() {
  if (!sqlite3_get_autocommit(database_.handle()))
    sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() try { database_.commit_.run(); } catch (SqlFailure& failure) {
  failure.at_commit = true;
  throw;
}

}  // namespace holdfast::stores::sqlite
