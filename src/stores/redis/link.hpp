// stores/redis/link.hpp: one connection to one server, driven by the exchange.
//
//   closed → dialing → securing (TLS) → greeting (AUTH, SELECT, SCRIPT LOAD, …) → ready
//
// Tasks wait until it is ready, then travel in order. When it breaks, those that were sent are
// answered `unknown` and those that were not `no`; the next task dials again, after a rest if the
// last dialing failed. What is urgent and late is sent once more on a spare link (relief.cpp).
// Everything is called with the exchange's mutex held, but for send() and receive(), which only
// move bytes.
#pragma once

#include <atomic>
#include <deque>
#include <new>
#include <string>
#include <vector>

#include "net/dial.hpp"
#include "net/flow.hpp"
#include "net/tls.hpp"
#include "stores/common/descriptor.hpp"
#include "stores/redis/options.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/task.hpp"

namespace holdfast::stores::redis {

class Link;

// Who is told what happens on a link.
class Listener {
 public:
  virtual void finished(TaskPtr task) noexcept = 0;  // to be delivered
  // An error that sends the task elsewhere; true: it was taken over.
  virtual bool redirected(TaskPtr& task, Link& from, const Reply& error) = 0;
  virtual void pushed(Link& link, const Reply& reply) = 0;  // without having been asked
  virtual void opened(Link& link) noexcept = 0;
  virtual void broke(Link& link) noexcept = 0;
  virtual void moved() noexcept = 0;  // the server that sends messages is known, or another
  virtual void added(Link& spare) = 0;
  virtual void submit(Link& to, TaskPtr&& task, BootTime now) = 0;

 protected:
  ~Listener() = default;
};

// What the server told of itself when it was greeted.
struct Server {
  void read(std::string_view info);

  std::string run_id;
  std::string version;
  bool replica = false;
  int replicas = 0;  // connected to it
};

class Link {
 public:
  static constexpr Millis patience{30};  // of a thread that waits in receive()
  static constexpr int most_spares = 4;

  // acknowledged: commands whose answers count when replicas have what they did
  // spare: copies of commands that are late
  enum class Use : std::uint8_t { commands, acknowledged, messages, sentinel, spare };

  Link(net::Place place, Use use, const Options& options, Listener& listener);
  ~Link();

  const net::Place& place() const noexcept { return place_; }
  Use use() const noexcept { return use_; }
  bool ready() const noexcept { return state_ == State::ready; }
  const Server& server() const noexcept { return server_; }
  const Problem& problem() const noexcept { return problem_; }  // why it broke last
  Link* relief() const noexcept { return relief_.get(); }       // null: was never needed
  BootTime heard_at() const noexcept { return heard_at_; }      // or since then nothing was awaited

  // True: somebody who polls must look again what there is to poll for.
  bool submit(TaskPtr&& task, BootTime now);
  void open(BootTime now);  // without a task
  void close(const Problem& why) noexcept;
  void redirect_waiting(TaskQueue& to) noexcept;  // what was not sent yet
  bool idle() const noexcept { return waiting_.empty() && sent_.empty(); }
  bool free() const noexcept;      // closed, with nothing to do, and in nobody's hands
  void move_to(net::Place place);  // requires that it is free; its spares go along

  // ── for the exchange ──
  int descriptor() const noexcept;
  short events() const noexcept;
  BootTime next() const noexcept;  // something is due then, at the latest
  bool connected() const noexcept { return state_ >= State::securing; }
  bool unattended() const noexcept { return unattended_ && !idle(); }
  bool dormant() const noexcept { return use_ == Use::spare && reset() && !wanted(); }
  void step(BootTime now, short ready, bool received) noexcept;  // after poll, and maybe receive()
  void tick(BootTime now) noexcept;                              // what is due
  void relieve_late(BootTime now) noexcept;                      // what waits in vain
  bool begin_send(BootTime now);  // true: there is something, and nobody else sends
  void send() noexcept;           // no mutex
  void end_send();
  bool receive(bool wait) noexcept;  // no mutex; false: another thread is at it
  int polled = 0;                    // threads that have its descriptor in their hands

 private:
  enum class State : std::uint8_t { closed, dialing, securing, greeting, ready };
  enum class Greeting : std::uint8_t { auth, name, select, script, info };

  class Acknowledgement;

  void dial(BootTime now);
  void dialed(BootTime now);
  void take_in();  // what was received
  void read_replies();
  void answer(TaskPtr task, const Reply& reply);
  void answered(TaskPtr&& task, const Reply& reply);
  // Short of memory the connection is given up: nothing half-understood is used.
  template <class Work>
  void guarded(Work&& work) noexcept try {
    work();
  } catch (const std::bad_alloc&) {
    close({Errc::unavailable, "no_memory", {}});
  }
  void send_off(TaskPtr&& task, BootTime now);
  void reap() noexcept;
  bool reset() const noexcept { return state_ == State::closed && !socket_; }
  bool wanted() const noexcept { return !waiting_.empty() || wanted_until_ != BootTime(); }
  void expire(BootTime now);
  std::string awaited() const;
  void fail_all(const Problem& problem) noexcept;
  // greeting.cpp
  void greet();
  void greeted(const Reply& reply);
  void be_ready();
  // relief.cpp
  void watch(Task& task, BootTime now) noexcept;
  void prepare(BootTime now);
  void relieve(BootTime late_by, BootTime heard_at);
  bool has_unread() const noexcept;
  void give_up(const Problem& why);
  void hand_on(TaskPtr& task);
  Link& spare();
  int short_failures() const noexcept;
  Millis short_try(Millis most) const noexcept;
  // acknowledge.cpp
  void await_replicas(TaskPtr task) noexcept;
  void ask_replicas(BootTime now);
  void acknowledged(std::int64_t count, int needed);
  void unacknowledged(const Problem& problem) noexcept;

  net::Place place_;
  const Use use_;
  const Options& options_;
  Listener& listener_;

  State state_ = State::closed;
  std::unique_ptr<net::Dial> dial_;
  Descriptor socket_;  // closed only when nobody holds it in a poll or a send
  std::unique_ptr<net::Tls> tls_;
  Reader reader_;
  Server server_;
  std::vector<char> cipher_;  // received and not yet decrypted

  std::deque<Greeting> greetings_;  // not yet answered
  std::deque<TaskPtr> waiting_;     // until it is ready; null: was given up
  std::deque<TaskPtr> sent_;        // in the order of their replies; null: was given up
  std::deque<TaskPtr> unproven_;    // answered, but not yet by the replicas; null: was given up
  std::string out_;                 // to be sent …
  std::string sending_;             // … and being sent, from there on
  std::size_t sent_bytes_ = 0;
  net::Flow sending_flow_;
  net::Flow received_flow_;
  std::unique_ptr<Link> relief_;
  int spares_ = 0;  // that may still follow
  std::atomic<bool> receiving_{false};
  bool sending_now_ = false;
  bool blocked_ = false;       // the socket takes no more
  bool unproven_out_ = false;  // there is something in out_ that replicas must confirm
  bool unattended_ = false;    // maybe nobody lends a thread for what is under way

  BootTime phase_until_ = BootTime::max();  // of dialing, securing, greeting
  BootTime deadline_ = BootTime::max();     // not later than the first of all tasks
  BootTime wanted_until_{};                 // a spare one
  BootTime late_at_ = BootTime::max();      // not later than the first of those that are urgent
  BootTime heard_at_{};                     // or has nothing to hear since then
  BootTime rest_until_{};                   // after a failed dialing
  int failures_ = 0;
  Problem problem_;
};

}  // namespace holdfast::stores::redis
