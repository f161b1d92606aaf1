// stores/zookeeper/keeper.hpp: keeps one session, and proves it alive.
//
// Opens a session when a request first needs one, and another after that one has ended. Only
// answers to writes and to sync prove a session alive, because they go through the leader. While a
// claim depends on the session, a sync goes out every sixth of its timeout. Answers to pings and
// reads prove nothing, because a server that the others gave up long ago still sends them.
//
// A session that was disconnected for a whole timeout holds nothing any more, and is given up. The
// server may be down; or it came back with older data than the session has seen, and then it
// refuses the session for ever without saying why. A new session shows which of the two it is.
#pragma once

#include <atomic>
#include <coroutine>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "stores/common/courier.hpp"
#include "stores/zookeeper/session.hpp"

namespace holdfast::stores::zookeeper {

// The part of the store that keeps things in the session.
struct Tenants {
  virtual bool depend() noexcept = 0;  // true: something depends on the session
  // The session is over. `told`: the server said so, so everything made in it is gone.
  virtual void evict(bool told) noexcept = 0;
  virtual void changed(const std::string& path, bool deleted) noexcept = 0;
  virtual void prove(Session& session) noexcept = 0;  // every sixth of its timeout, while depend()

 protected:
  ~Tenants() = default;
};

class Keeper final : Audience {
 public:
  Keeper(const Options& options, Courier& courier, Tenants& tenants)
      : options_(options), courier_(courier), tenants_(tenants) {}
  void close() noexcept;  // answers all that wait for a session: there is none

  // co_await keeper.session(): a connected session; or none, and why.
  struct Found {
    std::shared_ptr<Session> session;
    Problem problem;
  };
  class Entrance {
   public:
    explicit Entrance(Keeper& keeper) noexcept : keeper_(keeper) {}
    bool await_ready() noexcept { return keeper_.enter(*this); }
    bool await_suspend(std::coroutine_handle<> waiting) { return keeper_.wait(*this, waiting); }
    Found await_resume() noexcept { return std::move(found_); }

   private:
    friend class Keeper;
    Keeper& keeper_;
    Found found_;
  };
  Entrance session() noexcept { return Entrance(*this); }

  std::shared_ptr<Session> present() noexcept;  // connected or not; null: there is none
  bool connected() noexcept;
  void depended_on() noexcept;  // from now on the session must be proven alive
  Problem unreachable();        // for a call that gets no session in time
  BootTime tick(BootTime now) noexcept;

 private:
  struct Waiting {
    std::coroutine_handle<> handle;
    Entrance* entrance;
  };
  bool enter(Entrance& entrance) noexcept;
  bool wait(Entrance& entrance, std::coroutine_handle<> waiting);
  void open(std::vector<std::shared_ptr<Session>> over);  // closes `over` first
  void end_opening() noexcept;
  void opened(const std::shared_ptr<Session>& session, int error) noexcept;
  void admit(const std::shared_ptr<Session>& session, const Problem& problem) noexcept;
  bool let_go(const Session& session, bool wanted) noexcept;
  BootTime tick_hope(BootTime now) noexcept;
  void doubt() noexcept;
  BootTime tick_proof(BootTime now);
  void sync(const std::shared_ptr<Session>& session);
  void synced(bool proven) noexcept;

  void connected(Session& session) noexcept override;
  void disconnected(Session& session) noexcept override;
  void ended(Session& session, int rc) noexcept override;
  void proved(Session& session, BootTime sent) noexcept override;
  void changed(Session& session, const std::string& path, bool deleted) noexcept override;

  const Options& options_;
  Courier& courier_;
  Tenants& tenants_;
  std::thread opening_;  // resolves names; only tick and close touch it
  std::atomic<bool> opening_is_over_ = false;
  std::mutex mutex_;
  std::shared_ptr<Session> session_;
  std::vector<std::shared_ptr<Session>> ended_;  // to be closed
  std::vector<Waiting> waiting_;
  BootTime told_;  // when the last reported proof was sent
  BootTime sync_due_;
  BootTime hopeless_at_ = BootTime::max();  // if disconnected: when it is given up
  bool syncing_ = false;
  bool wanted_ = false;  // there is no session, and a request waits for one
  bool doubted_ = false;
  bool closed_ = false;
};

}  // namespace holdfast::stores::zookeeper
