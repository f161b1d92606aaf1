// stores/sqlite/inherited.hpp: connections and fork.
//
// SQLite keeps one account of a file's locks for the whole process. A forked child inherits the
// account but not the locks, so a new connection to the same file would rely on locks that nobody
// has. Therefore a child ends what it inherited before it opens anything. As long as no transaction
// was under way, that closes only the child's copies; so a fork waits for transactions to end.
#pragma once

#include <sqlite3.h>

namespace holdfast::stores::sqlite {

// Marks that SQLite is at work in this thread: a fork waits for it, for one second at most.
class AtWork {
 public:
  AtWork();
  ~AtWork();
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
};

// Call both while an AtWork exists.
void enlist(sqlite3* connection);
void strike(sqlite3* connection) noexcept;

// Throws Trouble if the fork did come in the middle of a transaction.
void end_inherited();

}  // namespace holdfast::stores::sqlite
