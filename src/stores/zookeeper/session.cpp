#include "stores/zookeeper/session.hpp"

#include <cerrno>
#include <csignal>
#include <utility>

namespace holdfast::stores::zookeeper {
namespace {

// A refusal by the leader proves the session alive as well as a success does.
bool was_answered(int rc) noexcept {
  return rc == ZOK || rc == ZNONODE || rc == ZNODEEXISTS || rc == ZBADVERSION || rc == ZNOTEMPTY;
}

// Without a log callback, the library would write to stderr.
void ignore_log(const char*) {}

}  // namespace

bool was_lost(int rc) noexcept {
  return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZSESSIONMOVED;
}
bool is_over(int rc) noexcept {
  return rc == ZSESSIONEXPIRED || rc == ZINVALIDSTATE || rc == ZCLOSING || rc == ZAUTHFAILED;
}

// ── a request under way ──────────────────────────────────────────────────────────────────────────

struct Operation::State {
  State(Session& its_session, bool does_write) : session(its_session), writes(does_write) {}

  Session& session;
  const BootTime sent = BootClock::now();  // before the library gets it
  const bool writes;
  Outcome outcome;
  std::vector<zoo_op_result_t> results;  // of a transaction; the library fills them in
  std::shared_ptr<State> self;           // the library's reference
  State* next = nullptr;                 // in the session's list
  State* previous = nullptr;
  std::atomic<void*> awaiting{nullptr};

  void* mark() noexcept { return this; }  // in `awaiting`, it means: finished
  void finish(int rc) noexcept {
    const std::shared_ptr<State> kept = std::move(self);
    outcome.rc = rc;
    session.finished(*this);
    if (void* waiting = awaiting.exchange(mark(), std::memory_order_acq_rel))
      std::coroutine_handle<>::from_address(waiting).resume();
  }

  static State& of(const void* data) noexcept {
    return *static_cast<State*>(const_cast<void*>(data));
  }
  static void on_void(int rc, const void* data) { of(data).finish(rc); }
  static void on_stat(int rc, const Stat* stat, const void* data) {
    if (stat) of(data).outcome.stat = *stat;
    of(data).finish(rc);
  }
  static void on_created(int rc, const char* path, const Stat* stat, const void* data) try {
    if (stat) of(data).outcome.stat = *stat;
    if (path) of(data).outcome.text = path;
    of(data).finish(rc);
  } catch (const std::bad_alloc&) {
    of(data).finish(ZCONNECTIONLOSS);  // find_again() can look for it
  }
  static void on_data(int rc, const char* bytes, int size, const Stat* stat, const void* data) try {
    if (stat) of(data).outcome.stat = *stat;
    if (bytes && size > 0) of(data).outcome.text.assign(bytes, static_cast<std::size_t>(size));
    of(data).finish(rc);
  } catch (const std::bad_alloc&) {
    of(data).finish(ZCONNECTIONLOSS);
  }
  static void on_names(int rc, const String_vector* names, const void* data) try {
    if (names) of(data).outcome.names.assign(names->data, names->data + names->count);
    of(data).finish(rc);
  } catch (const std::bad_alloc&) {
    of(data).finish(ZCONNECTIONLOSS);
  }
  static void on_synced(int rc, const char*, const void* data) { of(data).finish(rc); }
};

bool Operation::await_ready() const noexcept {
  return state_->awaiting.load(std::memory_order_acquire) != nullptr;
}
bool Operation::await_suspend(std::coroutine_handle<> awaiting) noexcept {
  void* nobody = nullptr;
  return state_->awaiting.compare_exchange_strong(nobody, awaiting.address(),
                                                  std::memory_order_acq_rel);
}
Outcome Operation::await_resume() noexcept { return std::move(state_->outcome); }

// When it is closed, the library forgets some of the requests under way; this list does not.
template <class Start>
Operation Session::start(bool writes, Start&& start) {
  auto state = std::make_shared<Operation::State>(*this, writes);
  int rc = ZCLOSING;
  {
    const std::lock_guard lock(mutex_);
    if (handle_) {
      state->self = state;
      state->next = first_;
      if (first_) first_->previous = state.get();
      first_ = state.get();
      rc = start(*state);
    }
  }
  if (rc != ZOK) state->finish(rc);
  return Operation(std::move(state));
}

void Session::finished(Operation::State& state) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (state.next) state.next->previous = state.previous;
    if (state.previous) state.previous->next = state.next;
    if (first_ == &state) first_ = state.next;
  }
  if (state.writes && was_answered(state.outcome.rc)) audience_.proved(*this, state.sent);
  if (is_over(state.outcome.rc)) end();
  // The server said so. No event may follow, because the server may keep the connection.
  if (state.outcome.rc == ZSESSIONEXPIRED) audience_.ended(*this, ZSESSIONEXPIRED);
}

// The outcome of a request may report the end before the last event does. These flags keep
// everybody from using the session in between.
void Session::end() noexcept {
  over_ = true;
  connected_ = false;
}

// ── requests ─────────────────────────────────────────────────────────────────────────────────────

const ACL_vector* Session::acl() const noexcept {
  return options_.creator_only ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
}

Operation Session::create(const std::string& path, const std::string& data, Node node) {
  const int modes[] = {ZOO_PERSISTENT, ZOO_CONTAINER, ZOO_EPHEMERAL_SEQUENTIAL};
  return start(true, [&](auto& state) {
    return zoo_acreate2(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), acl(),
                        modes[static_cast<std::size_t>(node)], &Operation::State::on_created,
                        &state);
  });
}

Operation Session::remove(const std::string& path, int version) {
  return start(true, [&](auto& state) {
    return zoo_adelete(handle_, path.c_str(), version, &Operation::State::on_void, &state);
  });
}

Operation Session::set(const std::string& path, const std::string& data, int version) {
  return start(true, [&](auto& state) {
    return zoo_aset(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), version,
                    &Operation::State::on_stat, &state);
  });
}

Operation Session::get(const std::string& path, bool watch) {
  return start(false, [&](auto& state) {
    return zoo_awget(handle_, path.c_str(), watch ? &Session::on_event : nullptr, this,
                     &Operation::State::on_data, &state);
  });
}

Operation Session::exists(const std::string& path) {
  return start(false, [&](auto& state) {
    return zoo_aexists(handle_, path.c_str(), 0, &Operation::State::on_stat, &state);
  });
}

Operation Session::children(const std::string& path) {
  return start(false, [&](auto& state) {
    return zoo_aget_children(handle_, path.c_str(), 0, &Operation::State::on_names, &state);
  });
}

Operation Session::sync(const std::string& path) {
  return start(true, [&](auto& state) {
    return zoo_async(handle_, path.c_str(), &Operation::State::on_synced, &state);
  });
}

Operation Session::change(std::span<const Change> changes) {
  std::vector<zoo_op_t> parts(changes.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    if (change.what == Change::What::remove) {
      zoo_delete_op_init(&parts[i], change.path.c_str(), -1);
    } else {
      zoo_create_op_init(&parts[i], change.path.c_str(), change.data.data(),
                         static_cast<int>(change.data.size()), acl(), ZOO_EPHEMERAL, nullptr, 0);
    }
  }
  return start(true, [&](auto& state) {
    state.results.resize(parts.size());
    return zoo_amulti(handle_, static_cast<int>(parts.size()), parts.data(), state.results.data(),
                      &Operation::State::on_void, &state);
  });
}

// ── the session itself ───────────────────────────────────────────────────────────────────────────

// The library's threads inherit this signal mask, so they never take the program's signals.
int Session::open() noexcept {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  // The first event may come before this returns, so everybody waits at the mutex for handle_.
  std::unique_lock lock(mutex_);
  handle_ = zookeeper_init2(options_.servers.c_str(), &Session::on_event,
                            static_cast<int>(options_.session.count()), nullptr, this,
                            ZOO_NO_LOG_CLIENTENV, &ignore_log);
  const int error = handle_ ? 0 : errno != 0 ? errno : EINVAL;
  // By default the library resolves all names on every turn of its loop; -1: only after a
  // connection was lost.
  if (handle_) zoo_set_servers_resolution_delay(handle_, -1);
  if (handle_ && !options_.login.empty())
    zoo_add_auth(handle_, "digest", options_.login.data(), static_cast<int>(options_.login.size()),
                 nullptr, nullptr);
  lock.unlock();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

void Session::close() noexcept {
  zhandle_t* handle = nullptr;
  {
    const std::lock_guard lock(mutex_);
    handle = std::exchange(handle_, nullptr);
  }
  if (!handle) return;
  end();
  zookeeper_close(handle);
  for (;;) {
    Operation::State* left = nullptr;
    {
      const std::lock_guard lock(mutex_);
      left = first_;
    }
    if (!left) return;
    left->finish(ZCLOSING);
  }
}

std::int64_t Session::id() noexcept {
  const std::lock_guard lock(mutex_);
  return handle_ ? zoo_client_id(handle_)->client_id : 0;
}

std::string Session::server() {
  const std::lock_guard lock(mutex_);
  return handle_ ? zoo_get_current_server(handle_) : "";
}

void Session::on_event(zhandle_t* handle, int type, int state, const char* path, void* context) {
  Session& session = *static_cast<Session*>(context);
  if (type != ZOO_SESSION_EVENT) {
    try {
      session.audience_.changed(session, path, type == ZOO_DELETED_EVENT);
    } catch (const std::bad_alloc&) {
      // Waiters ask again later anyway.
    }
  } else if (state == ZOO_CONNECTED_STATE) {
    session.timeout_ = zoo_recv_timeout(handle);
    session.connected_ = true;
    session.audience_.connected(session);
  } else {
    session.connected_ = false;
    const bool expired = state == ZOO_EXPIRED_SESSION_STATE;
    if (expired || state == ZOO_AUTH_FAILED_STATE) {
      session.end();
      session.audience_.ended(session, expired ? ZSESSIONEXPIRED : ZAUTHFAILED);
    } else {
      session.audience_.disconnected(session);
    }
  }
}

}  // namespace holdfast::stores::zookeeper
