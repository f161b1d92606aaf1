// stores/redis/router.hpp: which server a command goes to. One class per topology.
//
// A command that cannot be sent yet, because its server is unknown or told us to retry, rests here.
// If its deadline comes first, it is refused with the reason why it had to wait. Everything
// requires the exchange's mutex.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "stores/redis/exchange.hpp"
#include "stores/redis/options.hpp"

namespace holdfast::stores::redis {

// For questions about where the servers are.
inline constexpr Millis answer_within{1000};
inline constexpr std::size_t most_nodes = 1000;  // as many as a Cluster can have

struct Routing {
  const Options& options;
  Exchange& exchange;
  Listener& listener;
};

class Router : public Timed {
 public:
  explicit Router(const Routing& routing) : routing_(routing) {}
  virtual ~Router() = default;

  virtual void send(TaskPtr&& task, BootTime now) = 0;
  // Sends one task to each server that has locks, for example to scan all keys. Makes the first
  // task at once, the others perhaps only when the servers are known.
  virtual void each(const std::function<TaskPtr()>& make, BootTime now) = 0;
  // Where to listen for messages; null while unknown. Called again when that connection breaks, and
  // then gives another place, if there is one.
  virtual const net::Place* messages() noexcept = 0;

  // ── events of the links ──
  // An error that sends the task elsewhere, or again later. True if the router took the task over.
  virtual bool redirected(TaskPtr& task, Link& from, const Reply& error, BootTime now);
  virtual void pushed(Link&, const Reply&, BootTime) {}
  virtual void opened(Link&, BootTime) noexcept {}
  virtual void broke(Link&, BootTime) noexcept {}

  void tick(BootTime now) override;
  BootTime next() const noexcept override { return next_; }

 protected:
  using Make = std::function<TaskPtr()>;
  static constexpr int most_redirections = 16;
  static constexpr BootTime until_woken = BootTime::max();

  void rest(TaskPtr task, BootTime due, Problem why, Make others = nullptr) noexcept;
  bool rests() const noexcept { return !resting_.empty(); }
  void wake(BootTime now);                // sends what rests until_woken
  void tell_resting(const Problem& why);  // updates the reason why they rest
  void refuse_resting(const Problem& why) noexcept;
  void refuse(TaskPtr task, const Problem& why) noexcept;
  // Sends a question of the router itself; its answer, or a lack of memory, clears `under_way`.
  void ask(bool& under_way, Link& link, TaskPtr question, BootTime now);
  bool followed_too_often(TaskPtr& task, const Reply& error);  // true: it was refused

  const Routing routing_;

 private:
  struct Rest {
    TaskPtr task;
    BootTime due;
    Problem why;
    Make others;  // makes the other tasks, if `task` is the first of each()
  };
  void go_on(Rest& rest, BootTime now) noexcept;

  std::vector<Rest> resting_;
  BootTime next_ = BootTime::max();
};

// A random time to rest, so that not all clients come back at once.
Millis a_while(Millis least, Millis most);

// The connections to one server: one for commands, and one more for commands that count only once
// replicas have them, because waiting for replicas blocks a connection. The exchange points to
// both, so a node is never destroyed; move_to() reuses it for another server.
class Node {
 public:
  Node(const net::Place& place, const Routing& routing);

  const net::Place& place() const noexcept { return commands_.place(); }
  Link& commands() noexcept { return commands_; }
  bool ready() const noexcept { return commands_.ready(); }
  bool has(const Link& link) const noexcept {
    return &link == &commands_ || &link == acknowledged_.get();
  }
  void send(TaskPtr&& task, BootTime now);
  void close(const Problem& why) noexcept;
  bool idle() const noexcept;
  bool move_to(const net::Place& place);  // false: not closed yet, or not idle

 private:
  const Routing routing_;
  Link commands_;
  std::unique_ptr<Link> acknowledged_;
};

std::unique_ptr<Router> make_single(const Routing& routing);
std::unique_ptr<Router> make_sentinel(const Routing& routing);
std::unique_ptr<Router> make_cluster(const Routing& routing);

}  // namespace holdfast::stores::redis
