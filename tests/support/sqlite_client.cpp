#include "support/sqlite_client.hpp"

#include <sqlite3.h>

#include <stdexcept>

#include "support/eventually.hpp"

namespace holdfast::support {

SqliteClient::SqliteClient(const std::string& file) {
  if (sqlite3_open_v2(file.c_str(), &database_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) {
    sqlite3_close(database_);
    throw std::runtime_error("cannot open " + file);
  }
  sqlite3_busy_timeout(database_, static_cast<int>(patient.count()));
}

SqliteClient::~SqliteClient() { sqlite3_close(database_); }

void SqliteClient::run(const std::string& statement) const {
  if (sqlite3_exec(database_, statement.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    fail(statement);
}

int SqliteClient::change(const std::string& statement, const std::string& parameter) const {
  sqlite3_stmt* const step = prepared(statement, parameter);
  const bool done = sqlite3_step(step) == SQLITE_DONE;
  sqlite3_finalize(step);
  if (!done) fail(statement);
  return sqlite3_changes(database_);
}

std::int64_t SqliteClient::number(const std::string& query, const std::string& parameter) const {
  sqlite3_stmt* const step = prepared(query, parameter);
  const bool found = sqlite3_step(step) == SQLITE_ROW;
  const std::int64_t number = found ? sqlite3_column_int64(step, 0) : 0;
  sqlite3_finalize(step);
  if (!found) fail(query);
  return number;
}

std::vector<std::string> SqliteClient::texts(const std::string& query,
                                             const std::string& parameter) const {
  sqlite3_stmt* const step = prepared(query, parameter);
  std::vector<std::string> texts;
  int said = SQLITE_DONE;
  while ((said = sqlite3_step(step)) == SQLITE_ROW) {
    const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(step, 0));
    texts.emplace_back(text != nullptr ? text : "");
  }
  sqlite3_finalize(step);
  if (said != SQLITE_DONE) fail(query);
  return texts;
}

sqlite3_stmt* SqliteClient::prepared(const std::string& statement,
                                     const std::string& parameter) const {
  sqlite3_stmt* step = nullptr;
  if (sqlite3_prepare_v2(database_, statement.c_str(), -1, &step, nullptr) == SQLITE_OK &&
      sqlite3_bind_text(step, 1, parameter.data(), static_cast<int>(parameter.size()),
                        SQLITE_TRANSIENT) == SQLITE_OK)
    return step;
  sqlite3_finalize(step);
  fail(statement);
}

void SqliteClient::fail(const std::string& statement) const {
  throw std::runtime_error(statement + ": " + sqlite3_errmsg(database_));
}

}  // namespace holdfast::support
