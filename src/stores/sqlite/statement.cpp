#include "stores/sqlite/statement.hpp"

#include <fcntl.h>

#include <cerrno>

#include "stores/common/descriptor.hpp"
#include "stores/sqlite/trouble.hpp"

namespace holdfast::stores::sqlite {

namespace {

// SQLite does not always report the errno. Only a lack of descriptors is not the file's fault. Test
// for it here and now, because the unwinding gives descriptors back.
int reason_of(int code, sqlite3* database) {
  const int told = database ? sqlite3_system_errno(database) : 0;
  if (told != 0 || (code & 0xff) != SQLITE_CANTOPEN) return told;
  return Descriptor(open("/", O_PATH | O_CLOEXEC)) ? 0 : errno;
}

}  // namespace

void expect(int code, sqlite3* database) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  throw SqlFailure{.code = code, .system_error = reason_of(code, database)};
}

void Statement::prepare() {
  if (statement_) return;
  expect(sqlite3_prepare_v3(database_, sql_.data(), static_cast<int>(sql_.size()),
                            SQLITE_PREPARE_PERSISTENT, &statement_, nullptr),
         database_);
}

void Statement::bind(int at, std::string_view bytes) {
  // An empty view may be a null pointer, which SQLite would take for NULL.
  const char* const data = bytes.empty() ? "" : bytes.data();
  expect(sqlite3_bind_blob64(statement_, at, data, bytes.size(), SQLITE_STATIC), database_);
}

void Statement::bind(int at, const ClaimId& claim) {
  bind(at, std::string_view(reinterpret_cast<const char*>(claim.data()), claim.size()));
}

void Statement::bind_number(int at, std::int64_t number) {
  expect(sqlite3_bind_int64(statement_, at, number), database_);
}

Statement::Rows::~Rows() { sqlite3_reset(statement_.statement_); }

bool Statement::Rows::next() {
  const int code = sqlite3_step(statement_.statement_);
  if (code == SQLITE_ROW) return true;
  expect(code, statement_.database_);
  return false;
}

std::int64_t Statement::Rows::number(int column) const noexcept {
  return sqlite3_column_int64(statement_.statement_, column);
}

std::string_view Statement::Rows::bytes(int column) const noexcept {
  const auto* const data =
      static_cast<const char*>(sqlite3_column_blob(statement_.statement_, column));
  const int size = sqlite3_column_bytes(statement_.statement_, column);
  return data ? std::string_view(data, static_cast<std::size_t>(size)) : std::string_view();
}

}  // namespace holdfast::stores::sqlite
