// stores/redis/link.hpp: one connection to one server, driven by the exchange.
//
//   closed → dialing → securing (TLS) → greeting (AUTH, SELECT, SCRIPT LOAD, …) → ready
//
// Tasks wait until it is ready, then travel in order. When it breaks, tasks that were sent are
// answered `unknown`, the others `no`, except patient ones, which go on waiting. The next task
// dials again, after a rest if the last dialing failed. An urgent task that is late is sent once
// more on a spare link (relief.cpp). Everything requires the exchange's mutex, except send() and
// receive(), which only move bytes.
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

// Is notified of what happens on a link.
class Listener {
 public:
  virtual void finished(TaskPtr task) noexcept = 0;  // delivers it later
  // An error that sends the task elsewhere. True if the listener took the task over.
  virtual bool redirected(TaskPtr& task, Link& from, const Reply& error) = 0;
  virtual void pushed(Link& link, const Reply& reply) = 0;  // a reply to no request
  virtual void opened(Link& link) noexcept = 0;
  virtual void broke(Link& link) noexcept = 0;
  virtual void moved() noexcept = 0;  // the server that sends messages is now known, or changed
  virtual void added(Link& spare) = 0;
  virtual void submit(Link& to, TaskPtr&& task, BootTime now) = 0;

 protected:
  ~Listener() = default;
};

// What the server said about itself in the greeting.
struct Server {
  void read(std::string_view info);

  std::string run_id;
  std::string version;
  bool replica = false;
  int replicas = 0;  // connected to it
};

class Link {
 public:
  static constexpr Millis patience{30};  // how long a thread waits in receive()
  static constexpr int most_spares = 4;

  // acknowledged: commands whose effects count only once replicas have them
  // spare: copies of late commands
  enum class Use : std::uint8_t { commands, acknowledged, messages, sentinel, spare };

  Link(net::Place place, Use use, const Options& options, Listener& listener);
  ~Link();

  const net::Place& place() const noexcept { return place_; }
  Use use() const noexcept { return use_; }
  bool ready() const noexcept { return state_ == State::ready; }
  const Server& server() const noexcept { return server_; }
  const Problem& problem() const noexcept { return problem_; }  // why it broke last
  Link* relief() const noexcept { return relief_.get(); }       // null: not needed so far
  BootTime heard_at() const noexcept { return heard_at_; }      // last bytes, or start of the wait

  // True if the readers must look again at what to poll.
  bool submit(TaskPtr&& task, BootTime now);
  void open(BootTime now);  // without a task
  void close(const Problem& why) noexcept;
  void redirect_waiting(TaskQueue& to) noexcept;  // takes what was not sent yet
  bool idle() const noexcept { return waiting_.empty() && sent_.empty(); }
  bool free() const noexcept;      // closed, with nothing to do, and used by no thread
  void move_to(net::Place place);  // requires free(); its spares go along

  // ── for the exchange ──
  int descriptor() const noexcept;
  short events() const noexcept;
  BootTime next() const noexcept;  // when tick() is due, at the latest
  bool connected() const noexcept { return state_ >= State::securing; }
  bool unattended() const noexcept { return unattended_ && !idle(); }
  bool dormant() const noexcept { return use_ == Use::spare && reset() && !wanted(); }
  void step(BootTime now, short ready, bool received) noexcept;  // after poll, and maybe receive()
  void tick(BootTime now) noexcept;                              // does what is due
  void relieve_late(BootTime now) noexcept;                      // hedges what is late
  bool begin_send(BootTime now);  // true: there are bytes, and no other thread sends
  void send() noexcept;           // without the mutex
  void end_send();
  bool receive(bool wait) noexcept;  // without the mutex; false: another thread receives
  int polled = 0;                    // threads that poll its descriptor or receive

 private:
  enum class State : std::uint8_t { closed, dialing, securing, greeting, ready };
  enum class Greeting : std::uint8_t { auth, name, select, script, info };

  class Acknowledgement;

  void dial(BootTime now);
  void dialed(BootTime now);
  void take_in();  // reads what was received
  void read_replies();
  void answer(TaskPtr task, const Reply& reply);
  void answered(TaskPtr&& task, const Reply& reply);
  // Without memory the connection is closed, so that nothing half-read is used.
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
  Descriptor socket_;  // closed only once no thread polls it or sends
  std::unique_ptr<net::Tls> tls_;
  Reader reader_;
  Server server_;
  std::vector<char> cipher_;  // received but not yet decrypted

  std::deque<Greeting> greetings_;  // not yet answered
  std::deque<TaskPtr> waiting_;     // until it is ready; null: expired
  std::deque<TaskPtr> sent_;        // in the order of their replies; null: ignore its reply
  std::deque<TaskPtr> unproven_;    // answered, but not by the replicas; null: expired
  std::string out_;                 // to be sent
  std::string sending_;             // being sent, from sent_bytes_ on
  std::size_t sent_bytes_ = 0;
  net::Flow sending_flow_;
  net::Flow received_flow_;
  std::unique_ptr<Link> relief_;
  int spares_ = 0;  // how many may still be added
  std::atomic<bool> receiving_{false};
  bool sending_now_ = false;
  bool blocked_ = false;       // the socket accepts no more bytes
  bool unproven_out_ = false;  // out_ contains something that replicas must confirm
  bool unattended_ = false;    // maybe no thread waits in help() for a task

  BootTime phase_until_ = BootTime::max();  // end of dialing, securing or greeting
  BootTime deadline_ = BootTime::max();     // no later than the first deadline of a task
  BootTime wanted_until_{};                 // a spare link stays open until then
  BootTime late_at_ = BootTime::max();      // no later than the first late_at of a task
  BootTime heard_at_{};                     // see heard_at()
  BootTime rest_until_{};                   // no dialing before then
  int failures_ = 0;
  Problem problem_;
};

}  // namespace holdfast::stores::redis
