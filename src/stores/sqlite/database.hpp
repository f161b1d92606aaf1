// stores/sqlite/database.hpp: one connection to the file, with our layout in it.
#pragma once

#include <sqlite3.h>

#include <string>

#include "holdfast/backend.hpp"
#include "stores/sqlite/site.hpp"
#include "stores/sqlite/statement.hpp"

namespace holdfast::stores::sqlite {

inline constexpr int layout_version = 4;
inline constexpr int application_id = 0x686f6c64;  // "hold"

class Database {
 public:
  // Opens the file, and creates or upgrades the layout. Refuses a newer layout or another program's
  // file, and does not touch it. Waits for others until `deadline`.
  Database(const Site& site, BootTime deadline);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  sqlite3*& handle() noexcept { return handle_; }

  // A call waits for another process's transaction until then.
  void set_deadline(BootTime deadline) noexcept { deadline_ = deadline; }

  void run(const char* sql);
  std::string text(const char* sql);  // the first column of the first row

 private:
  friend class Transaction;

  void connect();
  void disconnect() noexcept;
  void set_up();
  void check_owner(int version);
  void use_write_ahead_log();
  void migrate();
  bool wait_a_little(int tries) noexcept;  // false: the deadline has come

  const std::string path_;
  BootTime deadline_;
  std::uint32_t jitter_;
  sqlite3* handle_ = nullptr;
  Statement begin_{handle_, "BEGIN"};
  Statement begin_write_{handle_, "BEGIN IMMEDIATE"};
  Statement commit_{handle_, "COMMIT"};
};

// Rolls back unless it was committed.
class Transaction {
 public:
  enum class Mode { read, write };
  Transaction(Database& database, Mode mode);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
};

}  // namespace holdfast::stores::sqlite
