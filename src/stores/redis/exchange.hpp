// stores/redis/exchange.hpp: where the threads of a store carry each other's bytes (decision 0007).
//
// Any thread in help() writes for all and, if nobody reads, reads for all. A thread is the reader
// only while it polls and receives: it gives up the role before it delivers, and when it leaves it
// wakes a parked thread to take over. A lone caller costs one write and one blocking read (a poll
// as well, if it has to watch more than one connection); under load, many commands share them.
//
// There are two reader roles: callers read the replies to commands; waiters and the store thread
// read messages. While nobody reads messages, the reader of commands reads them too.
#pragma once

#include <poll.h>

#include <mutex>
#include <vector>

#include "core/list.hpp"
#include "stores/common/descriptor.hpp"
#include "stores/redis/link.hpp"

namespace holdfast::stores::redis {

struct OfExchange;

// Has something to do at a given time. Both calls require the exchange's mutex.
class Timed {
 public:
  virtual void tick(BootTime now) = 0;
  virtual BootTime next() const noexcept = 0;

 protected:
  ~Timed() = default;
};

class Exchange {
 public:
  bool make() noexcept;  // before its first use; false: no descriptor is left
  std::mutex& mutex() noexcept { return mutex_; }

  // ── with the mutex held ──
  void add(Link& link) { links_.push_back(&link); }
  void attend(Timed& timed) noexcept { timed_ = &timed; }
  void submit(Link& link, TaskPtr&& task, BootTime now);
  void finished(TaskPtr task) noexcept { finished_.push(std::move(task)); }
  std::size_t connections() const noexcept;  // that are ready
  void changed() noexcept;                   // makes the readers look again at what to poll

  // ── without the mutex ──
  void help(const Call* call, BootTime until, int wake) noexcept;

 private:
  enum Role : std::size_t { commands, messages };
  struct Helper;  // a thread that waits for its call, or to become the reader
  struct Polled {
    Link* link;
    bool connected;
    bool received = false;
  };
  struct Reading {
    bool taken = false;
    bool kicked = false;
    Descriptor kick;  // an eventfd in the reader's poll
    std::vector<pollfd> polled;
    std::vector<Polled> links;  // in the order of `polled`, after kick and wake
  };
  using Lock = std::unique_lock<std::mutex>;

  bool deliver(Lock& lock) noexcept;  // false: nothing to deliver
  BootTime flush(Lock& lock);         // returns its time: tasks expired by then are answered
  bool read(Lock& lock, Role role, BootTime until, int wake);  // false: `wake` is readable
  Descriptor take_bell() noexcept;
  bool park(Lock& lock, Helper& me, BootTime until);  // false: `wake` is readable
  void wake_finished(Lock& lock) noexcept;
  void pass_on(Role role) noexcept;
  Link* lone_link(Role role, BootTime until, int wake) const noexcept;
  void read_from(Lock& lock, Link& link);
  bool concerns(Role role, const Link& link) const noexcept;

  std::mutex mutex_;
  std::vector<Link*> links_;
  Timed* timed_ = nullptr;
  TaskQueue finished_;
  bool unsent_ = false;  // something was submitted since the last flush
  Reading reading_[2];
  core::List<Helper, OfExchange> parked_;
  std::vector<Descriptor> bells_;  // reused by threads that poll while they are parked
};

}  // namespace holdfast::stores::redis
