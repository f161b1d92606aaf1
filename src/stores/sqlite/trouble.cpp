#include "stores/sqlite/trouble.hpp"

#include <sqlite3.h>

#include <cerrno>
#include <system_error>

#include "core/text.hpp"

namespace holdfast::stores::sqlite {
namespace {

Errc code_of(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS: return Errc::denied;
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP: return Errc::invalid;
    default: return Errc::unavailable;
  }
}

std::string words_of(int error) {
  std::string words = std::generic_category().message(error);
  if (error == EMFILE || error == ENFILE) words += " (EMFILE: raise `ulimit -n` or close some)";
  return words;
}

}  // namespace

void refuse_errno(int error, std::string_view reason, std::string_view doing,
                  const std::string& path) {
  if (error == EMFILE || error == ENFILE) reason = "no_descriptors";
  refuse(code_of(error), reason,
         "cannot " + std::string(doing) + " " + core::escaped(path) + ": " + words_of(error));
}

bool SqlFailure::is_busy() const noexcept { return (code & 0xff) == SQLITE_BUSY; }

bool SqlFailure::may_be_committed() const noexcept {
  const int plain = code & 0xff;
  return at_commit && plain != SQLITE_BUSY && plain != SQLITE_FULL && plain != SQLITE_NOMEM;
}

Problem explain(const SqlFailure& failure, const std::string& path) {
  const std::string file = core::escaped(path);
  const int error = failure.system_error;
  const bool no_room = error == ENOSPC || error == EDQUOT;
  switch (no_room ? SQLITE_FULL : failure.code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Errc::busy, "busy_file",
              file + " was locked by another process for too long; try later"};
    case SQLITE_FULL:
      return {Errc::unavailable, "disk_full", "the disk of " + file + " is full; make room"};
    case SQLITE_READONLY:
      if (failure.code == SQLITE_READONLY_DBMOVED)
        return {Errc::corrupt, "replaced",
                file + " was replaced or removed while in use; open the store again"};
      return {Errc::denied, "read_only",
              file + " is read-only for this user; allow writing to it and its folder"};
    case SQLITE_PERM:
    case SQLITE_AUTH: return {Errc::denied, "denied", "no permission for " + file};
    case SQLITE_CANTOPEN:
      if (failure.code == SQLITE_CANTOPEN_SYMLINK)
        return {Errc::invalid, "symlink", file + " is a symbolic link; name the file itself"};
      if (error == EMFILE || error == ENFILE)
        return {Errc::unavailable, "no_descriptors",
                "cannot open " + file + ": " + words_of(error)};
      return {error == 0 ? Errc::unavailable : code_of(error), "cannot_create",
              "cannot open or create " + file + ", its -wal or its -shm" +
                  (error ? ": " + words_of(error) : "")};
    case SQLITE_NOTADB:
      return {Errc::corrupt, "not_a_database",
              file + " is not a SQLite database; name another file, or move it away"};
    case SQLITE_CORRUPT:
      return {Errc::corrupt, "damaged",
              file + " is damaged; move it away, or restore it with all its users stopped"};
    case SQLITE_NOMEM: return {Errc::unavailable, "no_memory", "out of memory"};
    case SQLITE_IOERR:
      return {Errc::unavailable, "io_error",
              "reading or writing " + file + " failed" + (error ? ": " + words_of(error) : "")};
    default: return {Errc::unavailable, "sqlite", file + ": " + sqlite3_errstr(failure.code)};
  }
}

}  // namespace holdfast::stores::sqlite
