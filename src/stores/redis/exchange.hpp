// stores/redis/exchange.hpp: where the threads of a store meet to carry each other's bytes.
//
// Whoever is in help() writes for all and, if nobody else does, reads for all. A thread has the
// role of the reader only while it polls and receives: it gives it up before it delivers, and when
// it leaves it wakes one of those who wait, to take it over. Alone, that is one write, one poll and
// one read with no thread in between; under load many commands share them.
//
// There are two such roles: callers read what answers their commands, waiters (and the hand) read
// messages. Who reads commands looks after the messages as well while nobody else does.
#pragma once

#include <poll.h>

#include <mutex>
#include <vector>

#include "core/list.hpp"
#include "stores/common/descriptor.hpp"
#include "stores/redis/link.hpp"

namespace holdfast::stores::redis {

struct OfExchange;

// Has something to do when its time has come. Called with the exchange's mutex held.
class Timed {
 public:
  virtual void tick(BootTime now) = 0;
  virtual BootTime next() const noexcept = 0;

 protected:
  ~Timed() = default;
};

class Exchange {
 public:
  bool make() noexcept;  // before its first use; false: no descriptor to be had
  std::mutex& mutex() noexcept { return mutex_; }

  // ── with the mutex held ──
  void add(Link& link) { links_.push_back(&link); }
  void attend(Timed& timed) noexcept { timed_ = &timed; }
  void submit(Link& link, TaskPtr&& task, BootTime now);
  void finished(TaskPtr task) noexcept { finished_.push(std::move(task)); }
  std::size_t connections() const noexcept;  // that stand
  void changed() noexcept;                   // who polls looks again what there is to poll for

  // ── without ──
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
    std::vector<Polled> links;  // in the order of `polled`, behind kick and wake
  };
  using Lock = std::unique_lock<std::mutex>;

  bool deliver(Lock& lock) noexcept;  // false: there was nothing
  BootTime flush(Lock& lock);         // whose deadline is over by then was answered
  bool read(Lock& lock, Role role, BootTime until, int wake);  // false: `wake` is readable
  Descriptor take_bell() noexcept;
  bool park(Lock& lock, Helper& me, BootTime until);  // the same
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
  std::vector<Descriptor> bells_;  // of those who poll while they are parked, to be used again
};

}  // namespace holdfast::stores::redis
