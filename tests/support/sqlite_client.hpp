// tests/support/sqlite_client.hpp: the database itself, to look into it and to meddle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::support {

class SqliteClient {
 public:
  explicit SqliteClient(const std::string& file);  // the file must exist; throws
  ~SqliteClient();
  SqliteClient(const SqliteClient&) = delete;
  SqliteClient& operator=(const SqliteClient&) = delete;

  void run(const std::string& statement) const;
  // How many rows it changed. The parameter replaces "?" as text.
  int change(const std::string& statement, const std::string& parameter) const;
  // The number in its first row, which must exist.
  std::int64_t number(const std::string& query, const std::string& parameter) const;
  // The first column of all its rows.
  std::vector<std::string> texts(const std::string& query, const std::string& parameter) const;

 private:
  sqlite3_stmt* prepared(const std::string& statement, const std::string& parameter) const;
  [[noreturn]] void fail(const std::string& statement) const;

  sqlite3* database_ = nullptr;
};

}  // namespace holdfast::support
