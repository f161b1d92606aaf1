// stores/etcd/client.hpp: requests to a cluster of etcd, without gRPC.
//
// Each begins at once and is answered later, on a thread of gRPC's, with no mutex held. A member
// that does not answer within a second, or cannot, is left for the next, and the request is said
// again there until its deadline: every request here may be done twice. Keep-alives go on streams
// of their own, which are judged by whether anything is heard on them.
//
// It has no timers of its own: tick() is called when it is due.
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

// Hears of keys that change. On threads of gRPC's, with no mutex held.
class Watching {
 public:
  // It hears of all changes after this revision.
  virtual void opened(WatchId watch, std::int64_t revision) noexcept = 0;
  struct Change {
    bool ended = false;
    std::string_view value;  // only during the call
    std::int64_t modified = 0;
  };
  virtual void changed(WatchId watch, const Change& change) noexcept = 0;
  virtual void closed(WatchId watch) noexcept = 0;  // it hears of nothing any more

 protected:
  ~Watching() = default;
};

class Connection;

class Client {
 public:
  // `tick_at` is called when tick() is wanted at that time, or before.
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
  Later<ServerStatus> status(std::size_t member, BootTime deadline);  // of that one only

  // From the next change on, or from a revision on; `ends`: only when keys end.
  struct Watch {
    std::string key;
    std::string end{};
    std::int64_t from = 0;
    bool ends = false;
  };
  bool watch(WatchId id, const Watch& watch) noexcept;  // an unused id; false: not now
  void unwatch(WatchId watch) noexcept;

  Later<bool> pause(BootTime until);
  BootTime tick(BootTime now) noexcept;  // when it is due again
  // Ends all that is under way, and waits for that. What begins afterwards fails at once.
  void close() noexcept;

 private:
  const std::unique_ptr<Connection> connection_;
};

}  // namespace holdfast::stores::etcd
