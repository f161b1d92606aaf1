// stores/sqlite/kept_log.hpp: SQLite's file system layer, which knows that we keep the log.
#pragma once

namespace holdfast::stores::sqlite {

// The name of a VFS that differs from the default one in one thing. SQLite syncs the folder of a
// log that it may have created, which costs as much as a transaction. Our log stays from one
// program to the next, so most starts do not need that sync, and this VFS skips it.
const char* kept_log_vfs() noexcept;

}  // namespace holdfast::stores::sqlite
