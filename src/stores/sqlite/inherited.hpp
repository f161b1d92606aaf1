// stores/sqlite/inherited.hpp: connections and fork.
//
// SQLite keeps one account of a file's locks for the whole process. A forked child inherits the
// account but not the locks, so a connection of its own to the same file would build on locks that
// nobody has. Therefore a child ends what it inherited before it opens anything. That only closes
// the child's copies, as long as no transaction was under way; so a fork waits for those to end.
#pragma once

#include <sqlite3.h>

namespace holdfast::stores::sqlite {

// SQLite is at work in this thread: a fork waits for it, for a second at most.
class AtWork {
 public:
  AtWork();
  ~AtWork();
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
};

// Both while at work.
void enlist(sqlite3* connection);
void strike(sqlite3* connection) noexcept;

// Throws Trouble if the fork came in the middle of a transaction after all.
void end_inherited();

}  // namespace holdfast::stores::sqlite
