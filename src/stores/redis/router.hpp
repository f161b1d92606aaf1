// stores/redis/router.hpp: which server a command goes to. One class a topology.
//
// A command that cannot be sent now, because nobody knows where to or because the server told us to
// come again, rests here; if its deadline comes first it is refused, and told why it had to wait.
// Everything is called with the exchange's mutex held.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "stores/redis/exchange.hpp"
#include "stores/redis/options.hpp"

namespace holdfast::stores::redis {

// For those that ask where servers are.
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
  // One task for each server that has locks, e.g. to look through all keys; one of them at once,
  // the others maybe when it is known which servers there are.
  virtual void each(const std::function<TaskPtr()>& make, BootTime now) = 0;
  // Where messages are listened to; asked again when that broke: another place, if there is one.
  // Null while that is not known.
  virtual const net::Place* messages() noexcept = 0;

  // ── what happens on the links ──
  // An error that sends the task elsewhere, or again later; true: it was taken over.
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
  void wake(BootTime now);                // those that rest until they are woken
  void tell_resting(const Problem& why);  // the news why they have to
  void refuse_resting(const Problem& why) noexcept;
  void refuse(TaskPtr task, const Problem& why) noexcept;
  // A question of its own, which clears `under_way` when it is answered. Without memory it is not.
  void ask(bool& under_way, Link& link, TaskPtr question, BootTime now);
  bool followed_too_often(TaskPtr& task, const Reply& error);  // true: it was refused

  const Routing routing_;

 private:
  struct Rest {
    TaskPtr task;
    BootTime due;
    Problem why;
    Make others;  // it is the first for each server
  };
  void go_on(Rest& rest, BootTime now) noexcept;

  std::vector<Rest> resting_;
  BootTime next_ = BootTime::max();
};

// A while to rest, different for everybody, so that not all come again at once.
Millis a_while(Millis least, Millis most);

// The connections to one server: one for commands, and one more for those that count only when
// replicas have them, which wait for that. Others point to them, so a server that is forgotten
// leaves them to the next one.
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
  bool move_to(const net::Place& place);  // false: it is not closed yet, or not idle

 private:
  const Routing routing_;
  Link commands_;
  std::unique_ptr<Link> acknowledged_;
};

std::unique_ptr<Router> make_single(const Routing& routing);
std::unique_ptr<Router> make_sentinel(const Routing& routing);
std::unique_ptr<Router> make_cluster(const Routing& routing);

}  // namespace holdfast::stores::redis
