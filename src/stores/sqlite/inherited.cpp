#include "stores/sqlite/inherited.hpp"

#include <pthread.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "stores/sqlite/trouble.hpp"

namespace holdfast::stores::sqlite {
namespace {

struct Account {
  std::shared_timed_mutex work;
  std::mutex mutex;
  std::vector<sqlite3*> open;
  std::vector<sqlite3*> inherited;
  bool quiet = true;  // no transaction was under way at the last fork
};

// Constructed when the store is loaded, because a fork during the construction would leave the
// child half an Account. Never destroyed.
alignas(Account) std::byte room[sizeof(Account)];
Account& account = *new (room) Account;

void before_fork() { account.quiet = account.work.try_lock_for(std::chrono::seconds(1)); }

void in_parent() {
  if (account.quiet) account.work.unlock();
}

// The threads that held the mutexes do not exist in the child, so nobody would unlock them.
void in_child() {
  new (&account.work) std::shared_timed_mutex;
  new (&account.mutex) std::mutex;
  account.inherited.insert(account.inherited.end(), account.open.begin(), account.open.end());
  account.open.clear();
}

[[maybe_unused]] const int watched = pthread_atfork(before_fork, in_parent, in_child);

}  // namespace

AtWork::AtWork() { account.work.lock_shared(); }
AtWork::~AtWork() { account.work.unlock_shared(); }

void enlist(sqlite3* connection) {
  std::lock_guard lock(account.mutex);
  account.open.push_back(connection);
}

void strike(sqlite3* connection) noexcept {
  std::lock_guard lock(account.mutex);
  std::erase(account.open, connection);
}

void end_inherited() {
  std::lock_guard lock(account.mutex);
  if (account.inherited.empty()) return;
  if (!account.quiet)
    refuse(Errc::invalid, "forked",
           "the parent was in a transaction when it forked; open the store before, or use exec");
  for (sqlite3* connection : std::exchange(account.inherited, {})) {
    while (sqlite3_stmt* statement = sqlite3_next_stmt(connection, nullptr))
      sqlite3_finalize(statement);
    sqlite3_close(connection);
  }
}

}  // namespace holdfast::stores::sqlite
