// stores/sqlite/statement.hpp: prepared statements; values are bound, never written into the text.
#pragma once

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <string_view>

#include "holdfast/backend.hpp"

namespace holdfast::stores::sqlite {

// Throws SqlFailure unless `code` is a success.
void expect(int code, sqlite3* database);

// Prepared at its first use. Statements in one object live as long as its database connection.
class Statement {
 public:
  // The database may be opened after this is constructed.
  Statement(sqlite3*& database, std::string_view sql) noexcept : database_(database), sql_(sql) {}
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // One run of the statement; what its columns point to lives until the next step.
  class Rows {
   public:
    explicit Rows(Statement& of) noexcept : statement_(of) {}
    ~Rows();
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    bool next();
    std::int64_t number(int column) const noexcept;
    std::string_view bytes(int column) const noexcept;

   private:
    Statement& statement_;
  };

  // Text arguments must outlive the rows.
  template <class... Values>
  Rows rows(const Values&... values) {
    prepare();
    int at = 0;
    (bind(++at, values), ...);
    return Rows(*this);
  }
  template <class... Values>
  void run(const Values&... values) {
    rows(values...).next();
  }

 private:
  void prepare();
  void bind(int at, std::string_view bytes);
  void bind(int at, const ClaimId& claim);
  void bind(int at, std::integral auto number) {
    bind_number(at, static_cast<std::int64_t>(number));
  }
  void bind_number(int at, std::int64_t number);

  sqlite3*& database_;
  std::string_view sql_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace holdfast::stores::sqlite
