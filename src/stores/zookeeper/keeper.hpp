// stores/zookeeper/keeper.hpp: keeps one session, and proves it alive.
//
// The first who needs a session has it made, and a new one is made after its end. What proves it:
// answers to writes and to sync, which go through the leader. While anything depends on it, a sync
// is sent every sixth of its timeout. Pings and reads are answered by a server that the others have
// long given up, and count for nothing.
//
// One that was not connected for as long as its timeout holds nothing any more, and is given up.
// The server may be down; or it came back with less than the session has seen, and then it refuses
// the session for ever without saying why. A new session shows which of the two it is.
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

// Who has something in the session.
struct Tenants {
  virtual bool depend() noexcept = 0;  // on the session's life
  // It is over. `told`: by the server, so all that was made in it is gone.
  virtual void evict(bool told) noexcept = 0;
  virtual void changed(const std::string& path, bool deleted) noexcept = 0;
  virtual void prove(Session& session) noexcept = 0;  // every sixth of its timeout, if they depend

 protected:
  ~Tenants() = default;
};

class Keeper final : Audience {
 public:
  Keeper(const Options& options, Courier& courier, Tenants& tenants)
      : options_(options), courier_(courier), tenants_(tenants) {}
  void close() noexcept;  // what waits for a session is told that there is none

  // co_await keeper.session(): one that is connected; or none, and why.
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
  void depended_on() noexcept;  // from now on it must be proven
  Problem unreachable();        // what to say if there is no session in time
  BootTime tick(BootTime now) noexcept;

 private:
  struct Waiting {
    std::coroutine_handle<> handle;
    Entrance* entrance;
  };
  bool enter(Entrance& entrance) noexcept;
  bool wait(Entrance& entrance, std::coroutine_handle<> waiting);
  void open(std::vector<std::shared_ptr<Session>> over);  // which are closed first
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
  std::thread opening_;  // names are resolved there; touched by tick and close only
  std::atomic<bool> opening_is_over_ = false;
  std::mutex mutex_;
  std::shared_ptr<Session> session_;
  std::vector<std::shared_ptr<Session>> ended_;  // to be closed
  std::vector<Waiting> waiting_;
  BootTime told_;  // the proof that was told last
  BootTime sync_due_;
  BootTime hopeless_at_ = BootTime::max();  // it is not connected, and given up then
  bool syncing_ = false;
  bool wanted_ = false;  // there is none, and somebody waits for one
  bool doubted_ = false;
  bool closed_ = false;
};

}  // namespace holdfast::stores::zookeeper
