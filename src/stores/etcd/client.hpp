// stores/etcd/client.hpp: requests to a cluster of etcd, without gRPC.
//
// Each begins at once and is answered later, with no mutex held, as a rule on the one thread that
// takes the answers from gRPC. If a member cannot answer, or does not within a second, the client
// repeats the request at the next member, until the deadline. So every request here must be safe to
// execute twice. Keep-alives have their own streams, which are given up only when they are silent.
//
// The client has no timers: its user calls tick() when it is due.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "stores/etcd/later.hpp"
#include "stores/etcd/options.hpp"
#include "stores/etcd/wire.hpp"

namespace holdfast::stores::etcd {

using WatchId = std::int64_t;

std::uint64_t random_bits();

// Hears of changed keys. Called from several threads, with no mutex held.
class Watching {
 public:
  // The watch tells of all changes after this revision.
  virtual void opened(WatchId watch, std::int64_t revision) noexcept = 0;
  struct Change {
    bool ended = false;
    std::string_view value;  // only during the call
    std::int64_t modified = 0;
  };
  virtual void changed(WatchId watch, const Change& change) noexcept = 0;
  virtual void closed(WatchId watch) noexcept = 0;  // the watch has ended

 protected:
  ~Watching() = default;
};

class Connection;

class Client {
 public:
  // The client calls `tick_at` to have tick() called at that time, or earlier.
  Client(const Options& options, Watching& watching, std::function<void(BootTime)> tick_at);
  ~Client();  // after close()

  Later<Transacted> transact(Transaction transaction, BootTime deadline);
  Later<Found> find(std::string key, std::string end, std::int64_t most, BootTime deadline);
  Later<Removed> remove(std::string key, std::string end, BootTime deadline);
  Later<LeaseGranted> grant(std::chrono::seconds ttl, BootTime deadline);
  Later<Reply> revoke(std::int64_t lease, BootTime deadline);
  Later<LeaseKept> keep(std::int64_t lease, BootTime deadline, Keeping how = Keeping::from_now_on);
  Later<LeaseLeft> time_left(std::int64_t lease, BootTime deadline);
  Later<Alarms> alarms(BootTime deadline);
  Later<Members> members(BootTime deadline);
  Later<ServerStatus> status(std::size_t member, BootTime deadline);  // asks only that one

  // From the next change on, or from a revision on; `ends`: tell only when keys are removed.
  struct Watch {
    std::string key;
    std::string end{};
    std::int64_t from = 0;
    bool ends = false;
  };
  bool watch(WatchId id, const Watch& watch) noexcept;  // needs a new id; false: not sent
  void unwatch(WatchId watch) noexcept;

  Later<bool> pause(BootTime until);
  BootTime tick(BootTime now) noexcept;  // when it is due again
  // Cancels all running calls, and waits until they end. A call that begins later fails at once.
  void close() noexcept;

 private:
  const std::unique_ptr<Connection> connection_;
};

}  // namespace holdfast::stores::etcd
