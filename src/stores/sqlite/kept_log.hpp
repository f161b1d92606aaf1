// stores/sqlite/kept_log.hpp: SQLite's own file system layer, told that the log is kept.
#pragma once

namespace holdfast::stores::sqlite {

// The name of a VFS that is the default one but for this: SQLite syncs the folder of a log that it
// may have created. Ours stays from one program to the next, so at most starts that sync, which
// costs as much as a transaction, would be for nothing.
const char* kept_log_vfs() noexcept;

}  // namespace holdfast::stores::sqlite
