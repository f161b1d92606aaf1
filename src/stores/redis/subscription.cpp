#include "stores/redis/subscription.hpp"

#include <algorithm>
#include <new>

#include "stores/redis/request.hpp"
#include "stores/redis/trouble.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr Millis longest_probe{1000};

}  // namespace

class Subscription::Subscribing final : public Task {
 public:
  explicit Subscribing(Subscription& of) : of_(of) { patient = true; }
  void write(std::string& out, const Link&) override {
    Request(out, 2) << "SUBSCRIBE" << of_.routing_.options.setting.channel;
  }
  void read(const Reply&) override { of_.subscribed(); }
  // Without the right to subscribe, waiters get no message, and ask again and again.
  void refuse(Said said, const Problem& problem) noexcept override {
    of_.subscribing_ = false;
    if (said != Said::no || problem.errc != Errc::denied) return;
    of_.refused_ = true;
    of_.warn(of_.warned_of_deafness_,
             "the user lacks the right to SUBSCRIBE: who waits is not told, and asks again and "
             "again; give it by ACL SETUSER");
  }
  void deliver(TaskPtr) noexcept override {}

 private:
  Subscription& of_;
};

// A command that must be answered before an ask may stand in line; it carries the ask.
class Subscription::Forerunner : public Task {
 public:
  Forerunner(Subscription& of, TaskPtr&& ask) : of_(of), ask_(std::move(ask)) {
    deadline = ask_->deadline;
    slot = ask_->slot;
  }
  void read(const Reply&) override {
    of_.let_in(std::move(ask_), BootClock::now());
    of_.routing_.exchange.changed();
  }
  void refuse(Said, const Problem&) noexcept override {
    of_.routing_.exchange.finished(std::move(ask_));
  }
  void deliver(TaskPtr) noexcept override {}

  // If memory runs out, the caller gets the ask back, because somebody has to answer it.
  template <class Send>
  static void send_before(TaskPtr& ask, std::unique_ptr<Forerunner> one, Send&& send) {
    Forerunner& sent = *one;
    TaskPtr task = std::move(one);
    try {
      send(std::move(task));
    } catch (...) {
      if (task) ask = std::move(sent.ask_);
      throw;
    }
  }

 protected:
  Subscription& of_;
  TaskPtr ask_;
};

// Its answer comes after that of the SUBSCRIBE, which was sent before it on this link.
class Subscription::Passage final : public Forerunner {
 public:
  using Forerunner::Forerunner;
  void write(std::string& out, const Link&) override { Request(out, 1) << "PING"; }
};

// An empty message to ourselves, sent to the server that the ask will go to. Nobody reads it.
class Subscription::Rehearsal final : public Forerunner {
 public:
  using Forerunner::Forerunner;
  void write(std::string& out, const Link&) override {
    Request(out, 3) << "PUBLISH" << of_.routing_.options.setting.channel << "";
  }
  void read(const Reply& reply) override {
    of_.voice_ = Voice::heard;
    Forerunner::read(reply);
  }
  void refuse(Said said, const Problem& problem) noexcept override {
    if (problem.errc == Errc::denied) of_.voice_ = Voice::refused;
    ask_->refuse(Said::no, problem);
    Forerunner::refuse(said, problem);
  }
};

// Passes a message on to the runtime.
class Subscription::Notice final : public Task {
 public:
  explicit Notice(Hints& hints) : hints_(hints) {}
  void write(std::string&, const Link&) override {}
  void read(const Reply&) override {}
  void refuse(Said, const Problem&) noexcept override {}
  void deliver(TaskPtr) noexcept override {
    if (message.name.empty()) {
      hints_.look({});
    } else if (message.what == Message::What::granted) {
      hints_.granted(message.name, message.claim, message.answer);
    } else {
      hints_.gone(message.name, message.claim);
    }
  }

  Message message;

 private:
  Hints& hints_;
};

class Subscription::Probe final : public Task {
 public:
  Probe(Subscription& of, BootTime until, Millis patience) : of_(of) {
    deadline = until;
    silence = patience / 2;
  }
  void write(std::string& out, const Link&) override { Request(out, 1) << "PING"; }
  void read(const Reply&) override { of_.probing_ = false; }
  void refuse(Said, const Problem&) noexcept override { of_.probing_ = false; }
  void deliver(TaskPtr) noexcept override {}

 private:
  Subscription& of_;
};

class Subscription::Warning final : public Task {
 public:
  Warning(Hints& hints, const char* text)
      : hints_(hints), problem_{Errc::denied, "permission", text} {}
  void write(std::string&, const Link&) override {}
  void read(const Reply&) override {}
  void refuse(Said, const Problem&) noexcept override {}
  void deliver(TaskPtr) noexcept override { hints_.warn(problem_); }

 private:
  Hints& hints_;
  const Problem problem_;
};

Subscription::Subscription(const Routing& routing, Router& router, Hints& hints)
    : routing_(routing), router_(router), hints_(hints) {}
Subscription::~Subscription() = default;

void Subscription::pass(TaskPtr&& ask, BootTime now) {
  if (open_) return let_in(std::move(ask), now);
  if (!std::exchange(wanted_, true)) subscribe(now);
  if (!link_ || refused_) return routing_.exchange.finished(std::move(ask));
  Forerunner::send_before(
      ask, std::make_unique<Passage>(*this, std::move(ask)),
      [&](TaskPtr&& task) { routing_.exchange.submit(*link_, std::move(task), now); });
}

void Subscription::let_in(TaskPtr&& ask, BootTime now) {
  if (voice_ == Voice::heard) return router_.send(std::move(ask), now);
  Forerunner::send_before(ask, std::make_unique<Rehearsal>(*this, std::move(ask)),
                          [&](TaskPtr&& task) { router_.send(std::move(task), now); });
}

// An ask is repeated after five eighths of its ttl at the latest, so another eighth and a quarter
// end within it.
void Subscription::probe(Millis ttl, BootTime now) noexcept try {
  if (!open_ || probing_ || now - link_->heard_at() < ttl / 8) return;
  const Millis patience = std::min(ttl / 4, longest_probe);
  routing_.exchange.submit(*link_, std::make_unique<Probe>(*this, now + patience, patience), now);
  probing_ = true;
  routing_.exchange.changed();
} catch (const std::bad_alloc&) {
  // The next ask probes again.
}

void Subscription::subscribe(BootTime now) {
  const net::Place* place = router_.messages();
  if (!place) return;
  TaskQueue unsent;
  if (!link_ || link_->place() != *place) listen_at(*place, unsent);
  if (!subscribing_ && !open_) {
    routing_.exchange.submit(*link_, std::make_unique<Subscribing>(*this), now);
    subscribing_ = true;
  }
  while (TaskPtr task = unsent.pop()) routing_.exchange.submit(*link_, std::move(task), now);
}

void Subscription::listen_at(const net::Place& place, TaskQueue& unsent) {
  open_ = false;
  if (link_) {
    former_.push_back(std::move(link_));
    former_.back()->redirect_waiting(unsent);
    former_.back()->close({Errc::unavailable, "moved", "messages come from another server now"});
  }
  auto found = std::ranges::find(former_, place, [](auto& each) { return each->place(); });
  if (found == former_.end()) {
    found = std::ranges::find_if(former_, [](auto& each) { return each->free(); });
    if (found != former_.end()) (*found)->move_to(place);
  }
  if (found != former_.end()) {
    link_ = std::move(*found);
    former_.erase(found);
    return;
  }
  auto link =
      std::make_unique<Link>(place, Link::Use::messages, routing_.options, routing_.listener);
  routing_.exchange.add(*link);
  link_ = std::move(link);
}

void Subscription::subscribed() {
  subscribing_ = false;
  open_ = true;
  if (std::exchange(missed_, true)) routing_.exchange.finished(std::make_unique<Notice>(hints_));
}

void Subscription::found_silenced() noexcept {
  voice_ = Voice::refused;
  warn(warned_of_silence_,
       "the user lacks the right to PUBLISH: who waits was not told of a release, and has to find "
       "out; give it by ACL SETUSER");
}

void Subscription::warn(bool& warned, const char* text) noexcept try {
  if (warned) return;
  routing_.exchange.finished(std::make_unique<Warning>(hints_, text));
  warned = true;
} catch (const std::bad_alloc&) {
  // The next occasion warns.
}

void Subscription::pushed(const Reply& reply) {
  if (reply.items.size() != 3 || reply[0].text != "message") return;
  auto notice = std::make_unique<Notice>(hints_);
  if (!read_message(reply[2].text, notice->message)) return;
  // Without a stamp the gate asks again first; that ask is answered once replicas have it.
  if (routing_.options.wait_replicas != 0) notice->message.answer.store_us = 0;
  routing_.exchange.finished(std::move(notice));
}

void Subscription::broke(BootTime now) {
  open_ = false;
  if (wanted_ && !refused_) subscribe(now);
}

void Subscription::moved(BootTime now) {
  if (wanted_ && !refused_) subscribe(now);
}

}  // namespace holdfast::stores::redis
