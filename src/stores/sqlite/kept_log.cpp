#include "stores/sqlite/kept_log.hpp"

#include <sqlite3.h>
#include <unistd.h>

namespace holdfast::stores::sqlite {
namespace {

sqlite3_vfs* original = nullptr;

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* given_flags) {
  const bool is_kept_log = (flags & SQLITE_OPEN_WAL) != 0 && name && access(name, F_OK) == 0;
  if (is_kept_log) flags &= ~SQLITE_OPEN_CREATE;
  return original->xOpen(original, name, file, flags, given_flags);
}

const char* make() noexcept {
  original = sqlite3_vfs_find(nullptr);
  if (!original) return nullptr;
  static sqlite3_vfs kept = *original;
  kept.pNext = nullptr;
  kept.zName = "holdfast";
  kept.xOpen = open_file;
  return sqlite3_vfs_register(&kept, 0) == SQLITE_OK ? kept.zName : nullptr;
}

}  // namespace

const char* kept_log_vfs() noexcept {
  static const char* const name = make();
  return name;
}

}  // namespace holdfast::stores::sqlite
