// stores/zookeeper/session.hpp: one session of the client library, and the requests it takes.
//
//   auto created = session->create(path, data, Node::in_line);  // both are under way …
//   auto listed = session->children(folder);
//   const Outcome child = co_await created;  // … before the first is waited for
//
// The library has two threads per session. It calls us on only one of them, so outcomes and events
// come one after the other, in the server's order.
#pragma once

#include <zookeeper/zookeeper.h>

#include <atomic>
#include <coroutine>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "stores/zookeeper/options.hpp"

namespace holdfast::stores::zookeeper {

struct Outcome {
  int rc = ZOK;
  Stat stat{};
  std::string text;                // the created path, or the data
  std::vector<std::string> names;  // children
};

// The connection was lost while the request was under way: it may have been applied.
bool was_lost(int rc) noexcept;
// The session or this store has ended: what it made is gone, or soon will be.
bool is_over(int rc) noexcept;

class Session;

// A request that is under way.
class Operation {
 public:
  struct State;
  explicit Operation(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}

  bool await_ready() const noexcept;
  bool await_suspend(std::coroutine_handle<> awaiting) noexcept;
  Outcome await_resume() noexcept;

 private:
  std::shared_ptr<State> state_;
};

enum class Node : std::uint8_t { persistent, container, in_line };  // in_line: ephemeral, numbered

// A part of a transaction.
struct Change {
  enum class What : std::uint8_t { create_ephemeral, remove };
  What what{};
  std::string path;
  std::string data{};
};

// Hears what happens to a session, always on the thread on which the library calls us.
struct Audience {
  virtual void connected(Session& session) noexcept = 0;
  virtual void disconnected(Session& session) noexcept = 0;
  virtual void ended(Session& session, int rc) noexcept = 0;  // at least once
  // The leader answered a request: the session was alive at `sent`, or later.
  virtual void proved(Session& session, BootTime sent) noexcept = 0;
  virtual void changed(Session& session, const std::string& path, bool deleted) noexcept = 0;

 protected:
  ~Audience() = default;
};

class Session {
 public:
  Session(const Options& options, Audience& audience) : options_(options), audience_(audience) {}
  ~Session() { close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int open() noexcept;                // resolves names, so it may take long; 0, or an errno
  void close() noexcept;              // ends it at the server; never on a thread of the library
  void abandon() noexcept { end(); }  // from now on it counts as over, whatever the server says

  bool connected() const noexcept { return connected_.load(std::memory_order_acquire); }
  bool over() const noexcept { return over_.load(std::memory_order_acquire); }
  std::int64_t id() noexcept;
  Millis timeout() const noexcept { return Millis(timeout_.load(std::memory_order_relaxed)); }
  std::string server();  // the one that it is connected to

  Operation create(const std::string& path, const std::string& data, Node node);
  Operation remove(const std::string& path, int version = -1);
  Operation set(const std::string& path, const std::string& data, int version = -1);
  Operation get(const std::string& path, bool watch = false);
  Operation exists(const std::string& path);
  Operation children(const std::string& path);
  Operation sync(const std::string& path);
  Operation change(std::span<const Change> changes);  // all or none

 private:
  friend struct Operation::State;
  static void on_event(zhandle_t* handle, int type, int state, const char* path, void* context);
  template <class Start>
  Operation start(bool writes, Start&& start);
  void finished(Operation::State& state) noexcept;
  void end() noexcept;
  const ACL_vector* acl() const noexcept;

  const Options& options_;
  Audience& audience_;
  std::mutex mutex_;  // held while a request starts, never while one is answered
  zhandle_t* handle_ = nullptr;
  Operation::State* first_ = nullptr;  // of the operations under way
  std::atomic<bool> connected_{false};
  std::atomic<bool> over_{false};
  std::atomic<std::int64_t> timeout_{0};
};

}  // namespace holdfast::stores::zookeeper
