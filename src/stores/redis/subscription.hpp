// stores/redis/subscription.hpp: how this process learns of its grants: a channel (decision 0009).
//
// The first ask that must stand in line opens the channel, because a release skips waiters that do
// not listen. So such an ask goes out as a plain try; if the store refuses that, the ask comes here
// and is sent again once the channel is open. If the channel breaks, it opens again by itself, and
// then all waiters look again, because they may have missed messages. A channel that only fell
// silent looks like one without messages. So an ask to stand in line probes it by a PING; if no
// answer comes, the messages come from another server.
//
// A waiter will release one day, and must then be able to notify the next. So before its first such
// ask, the process publishes a message to itself; without the right to PUBLISH, the ask is refused,
// and the error names that right. From then on, and after a release that could not notify the next,
// the process does so before every ask, until the user has the right.
#pragma once

#include <memory>

#include "stores/redis/router.hpp"

namespace holdfast::stores::redis {

class Subscription {
 public:
  Subscription(const Routing& routing, Router& router, Hints& hints);
  ~Subscription();

  // ── with the exchange's mutex held ──
  bool open() const noexcept { return open_ && voice_ == Voice::heard; }
  bool refused() const noexcept { return refused_; }  // this user may not subscribe
  bool silenced() const noexcept { return voice_ == Voice::refused; }  // may not publish, it seems
  void found_silenced() noexcept;
  void pass(TaskPtr&& ask, BootTime now);    // sends ask once the channel is open, or delivers it
  void let_in(TaskPtr&& ask, BootTime now);  // sends ask if this user may publish
  void pushed(const Reply& reply);
  void broke(BootTime now);
  void moved(BootTime now);  // messages come from another server now
  // Call it when somebody waits for a message. If the connection was silent, it must answer now, or
  // the messages come from elsewhere within this ttl.
  void probe(Millis ttl, BootTime now) noexcept;
  bool has(const Link& link) const noexcept { return link_.get() == &link; }

 private:
  enum class Voice : std::uint8_t { untried, heard, refused };
  class Subscribing;
  class Forerunner;
  class Passage;
  class Rehearsal;
  class Notice;
  class Probe;
  class Warning;

  void subscribe(BootTime now);
  void listen_at(const net::Place& place, TaskQueue& unsent);
  void subscribed();
  void warn(bool& warned, const char* text) noexcept;

  const Routing routing_;
  Router& router_;
  Hints& hints_;
  std::unique_ptr<Link> link_;
  std::vector<std::unique_ptr<Link>> former_;  // a thread may still poll them
  bool wanted_ = false;
  bool subscribing_ = false;
  bool open_ = false;
  bool probing_ = false;
  bool refused_ = false;
  Voice voice_ = Voice::untried;
  bool missed_ = false;  // it was open before, so a reopening means missed messages
  bool warned_of_deafness_ = false, warned_of_silence_ = false;
};

}  // namespace holdfast::stores::redis
