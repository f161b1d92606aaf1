// stores/redis/subscription.hpp: the channel on which this process is told what was granted to it.
//
// It is opened by the first ask that must stand in line: whoever stands there without listening
// would be passed over by a release. So such an ask goes out as a mere try; if that was refused, it
// passes through here and is asked again when the channel is open. A channel that broke is opened
// again by itself, and then everybody who waits looks again, for messages may have been missed. One
// that only fell silent looks like one on which nobody has anything to say; so an ask to stand in
// line probes it by a PING, and without an answer the messages come from another server.
//
// Who stands in line will let go one day and must be able to tell the next one. So the first such
// ask is preceded by a message to ourselves: without the right to PUBLISH it is refused, by that
// name. From then on, and from a release on that could not tell the next one, every ask is.
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
  bool silenced() const noexcept { return voice_ == Voice::refused; }  // nor publish, it seems
  void found_silenced() noexcept;
  void pass(TaskPtr&& ask, BootTime now);    // sends it when it is open, or delivers what it has
  void let_in(TaskPtr&& ask, BootTime now);  // sends it when others can be told
  void pushed(const Reply& reply);
  void broke(BootTime now);
  void moved(BootTime now);  // messages come from another server now
  // Requires that a message is waited for: if the connection has been silent, it must answer now,
  // or the messages come from elsewhere within this ttl.
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
  std::vector<std::unique_ptr<Link>> former_;  // may still be in somebody's poll
  bool wanted_ = false;
  bool subscribing_ = false;
  bool open_ = false;
  bool probing_ = false;
  bool refused_ = false;
  Voice voice_ = Voice::untried;
  bool missed_ = false;  // it was open before
  bool warned_of_deafness_ = false, warned_of_silence_ = false;
};

}  // namespace holdfast::stores::redis
