// The master of a name that sentinels watch.
//
// The router asks the sentinels in turn which server it is, then asks that server, because they may
// be behind. It searches again when the master's connection breaks, when the master answers
// READONLY, and when a sentinel announces another. Until it finds the master, commands rest.
#include <algorithm>
#include <array>
#include <charconv>
#include <new>

#include "core/text.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/router.hpp"
#include "stores/redis/trouble.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr Millis least_pause{50}, longest_pause{150};  // between two rounds of questions
constexpr Millis watch_pause{1000};
constexpr std::string_view switched = "+switch-master";

// True if host and port make a place.
bool read_place(std::string_view host, std::string_view port, net::Place& place) {
  const auto end = port.data() + port.size();
  const auto [at, error] = std::from_chars(port.data(), end, place.port);
  place.host = host;
  return error == std::errc() && at == end && place.port != 0 && !host.empty();
}

class Sentinel final : public Router {
 public:
  explicit Sentinel(const Routing& routing) : Router(routing) {
    for (const net::Place& place : routing.options.places) {
      witnesses_.push_back(std::make_unique<Witness>(place, routing));
      routing.exchange.add(witnesses_.back()->asked);
      routing.exchange.add(witnesses_.back()->watched);
    }
  }

  void send(TaskPtr&& task, BootTime now) override {
    task->patient = true;
    if (master_) return master_->send(std::move(task), now);
    wanted_ = true;
    rest(std::move(task), until_woken, unknown_master());
  }
  void each(const std::function<TaskPtr()>& make, BootTime now) override { send(make(), now); }
  const net::Place* messages() noexcept override { return master_ ? &master_->place() : nullptr; }

  bool redirected(TaskPtr& task, Link& from, const Reply& error, BootTime now) override;
  void pushed(Link& link, const Reply& reply, BootTime now) override;
  void broke(Link& link, BootTime now) noexcept override;

  void tick(BootTime now) override;
  BootTime next() const noexcept override {
    return std::min({Router::next(), searches() && !asking_ ? ask_at_ : BootTime::max(),
                     master_ && !watching_ ? watch_at_ : BootTime::max()});
  }

 private:
  class Question;
  class Check;
  class Watch;

  struct Witness {  // one sentinel
    Witness(const net::Place& place, const Routing& routing)
        : asked(place, Link::Use::sentinel, routing.options, routing.listener),
          watched(place, Link::Use::sentinel, routing.options, routing.listener) {}
    Link asked;
    Link watched;  // a connection that has subscribed cannot ask
    std::string said;
    bool knows_no_such_name = false;
  };

  bool searches() const noexcept { return wanted_ && !master_; }
  void ask(BootTime now);
  void told(const Reply& reply, BootTime now);
  void named(const net::Place& place, BootTime now);
  void failed(std::string why, BootTime now);
  void confirmed(BootTime now);
  void lose_master(BootTime now) noexcept;
  void watch(BootTime now);
  void watched(bool well, BootTime now);
  Node* node_at(const net::Place& place);  // null: too many nodes
  Witness& witness() { return *witnesses_[turn_]; }
  Problem unknown_master() const;

  std::vector<std::unique_ptr<Witness>> witnesses_;
  std::vector<std::unique_ptr<Node>> nodes_;  // that are, were or are said to be the master
  Node* master_ = nullptr;
  Node* candidate_ = nullptr;  // we are asking it whether it is the master
  std::size_t turn_ = 0;       // the sentinel to ask
  std::size_t failures_ = 0;   // in a row
  unsigned question_ = 0;      // the latest; answers to older ones are ignored
  bool wanted_ = false;        // somebody has asked for the master
  bool asking_ = false;
  bool watching_ = false;  // or about to
  BootTime ask_at_{};
  BootTime watch_at_{};
};

// ── questions ────────────────────────────────────────────────────────────────────────────────────

class Sentinel::Question : public Task {
 public:
  Question(Sentinel& of, BootTime now) : of_(of), number_(++of.question_) {
    deadline = now + answer_within;
    unattended = true;
  }
  void write(std::string& out, const Link&) override {
    Request(out, 3) << "SENTINEL"
                    << "get-master-addr-by-name" << of_.routing_.options.master;
  }
  void read(const Reply& reply) override {
    if (current()) of_.told(reply, BootClock::now());
  }
  void refuse(Said, const Problem& problem) noexcept override try {
    if (current()) of_.failed(problem.text, BootClock::now());
  } catch (const std::bad_alloc&) {
    of_.asking_ = false;
  }
  void deliver(TaskPtr) noexcept override {}

 protected:
  bool current() const noexcept { return number_ == of_.question_; }
  Sentinel& of_;

 private:
  const unsigned number_;
};

class Sentinel::Check final : public Question {
 public:
  using Question::Question;
  void write(std::string& out, const Link&) override {
    Request(out, 2) << "INFO"
                    << "replication";
  }
  void read(const Reply& reply) override {
    if (!current()) return;
    Server server;
    server.read(reply.text);
    if (!server.replica) return of_.confirmed(BootClock::now());
    of_.failed("names a replica, " + net::to_string(of_.candidate_->place()), BootClock::now());
  }
};

class Sentinel::Watch final : public Task {
 public:
  Watch(Sentinel& of, BootTime now) : of_(of) { deadline = now + answer_within; }
  void write(std::string& out, const Link&) override { Request(out, 2) << "SUBSCRIBE" << switched; }
  void read(const Reply&) override { of_.watched(true, BootClock::now()); }
  void refuse(Said, const Problem&) noexcept override { of_.watched(false, BootClock::now()); }
  void deliver(TaskPtr) noexcept override {}

 private:
  Sentinel& of_;
};

// ── finding the master ───────────────────────────────────────────────────────────────────────────

void Sentinel::ask(BootTime now) {
  witness().knows_no_such_name = false;
  Router::ask(asking_, witness().asked, std::make_unique<Question>(*this, now), now);
}

void Sentinel::told(const Reply& reply, BootTime now) {
  net::Place place;
  witness().knows_no_such_name = reply.type == Reply::Type::nil;
  if (witness().knows_no_such_name) return failed("knows no master of that name", now);
  if (!read_place(reply[0].text, reply[1].text, place)) return failed("talks nonsense", now);
  named(place, now);
}

void Sentinel::named(const net::Place& place, BootTime now) {
  asking_ = false;
  if (master_ && master_->place() == place) return;
  if (master_) lose_master(now);
  candidate_ = node_at(place);
  if (!candidate_) return failed("names one master after the other", now);
  Router::ask(asking_, candidate_->commands(), std::make_unique<Check>(*this, now), now);
}

void Sentinel::failed(std::string why, BootTime now) {
  asking_ = false;
  witness().said = std::move(why);
  turn_ = (turn_ + 1) % witnesses_.size();
  ask_at_ = now;
  routing_.exchange.changed();
  if (++failures_ % witnesses_.size() != 0) return;
  ask_at_ = now + a_while(least_pause, longest_pause);
  tell_resting(unknown_master());
  if (std::ranges::all_of(witnesses_, [](auto& each) { return each->knows_no_such_name; }))
    refuse_resting(unknown_master());
}

void Sentinel::confirmed(BootTime now) {
  asking_ = false;
  failures_ = 0;
  master_ = candidate_;
  wake(now);
  routing_.listener.moved();
}

void Sentinel::lose_master(BootTime now) noexcept {
  Node* const lost = std::exchange(master_, nullptr);
  ask_at_ = now;
  routing_.exchange.changed();
  lost->close({Errc::unavailable, "no_master",
               net::to_string(lost->place()) + " is not the master any more"});
}

Node* Sentinel::node_at(const net::Place& place) {
  for (const auto& node : nodes_)
    if (node->place() == place) return node.get();
  for (const auto& node : nodes_)
    if (node.get() != master_ && node->move_to(place)) return node.get();
  if (nodes_.size() >= most_nodes) return nullptr;
  nodes_.reserve(nodes_.size() + 1);  // the exchange keeps a pointer to its links
  return nodes_.emplace_back(std::make_unique<Node>(place, routing_)).get();
}

Problem Sentinel::unknown_master() const {
  const std::string name = core::escaped(routing_.options.master);
  Problem problem{Errc::unavailable, "no_master", "no master of '" + name + "' was found yet"};
  bool known = false;
  for (const auto& each : witnesses_) {
    known = known || !each->knows_no_such_name;
    if (!each->said.empty())
      problem.text += "; " + net::to_string(each->asked.place()) + ": " + each->said;
  }
  if (!known) problem.errc = Errc::invalid;
  return problem;
}

// ── events ───────────────────────────────────────────────────────────────────────────────────────

bool Sentinel::redirected(TaskPtr& task, Link& from, const Reply& error, BootTime now) {
  if (refusal_of(error) != Refusal::read_only) return Router::redirected(task, from, error, now);
  if (followed_too_often(task, error)) return true;
  rest(std::move(task), until_woken, problem_of(error));
  if (master_ && master_->has(from)) lose_master(now);
  return true;
}

void Sentinel::broke(Link& link, BootTime now) noexcept {
  if (std::ranges::any_of(witnesses_, [&](const auto& each) { return &each->watched == &link; }))
    return watched(false, now);
  for (const auto& node : nodes_) {
    if (!node->has(link)) continue;
    TaskQueue unsent;
    link.redirect_waiting(unsent);
    if (node.get() == master_) lose_master(now);
    while (TaskPtr task = unsent.pop()) rest(std::move(task), until_woken, link.problem());
  }
}

void Sentinel::tick(BootTime now) {
  Router::tick(now);
  if (searches() && !asking_ && ask_at_ <= now) ask(now);
  if (master_ && !watching_ && watch_at_ <= now) watch(now);
}

// ── listening for a new master ───────────────────────────────────────────────────────────────────

void Sentinel::watch(BootTime now) {
  Router::ask(watching_, witness().watched, std::make_unique<Watch>(*this, now), now);
}

// The master may have changed before we listened, so we ask once more.
void Sentinel::watched(bool well, BootTime now) {
  watching_ = well;
  if (well) return asking_ ? void() : ask(now);
  turn_ = (turn_ + 1) % witnesses_.size();
  watch_at_ = now + watch_pause;
  routing_.exchange.changed();
}

// "NAME OLD-HOST OLD-PORT NEW-HOST NEW-PORT"
void Sentinel::pushed(Link&, const Reply& reply, BootTime now) {
  if (reply[0].text != "message" || reply[1].text != switched) return;
  std::array<std::string_view, 5> words;
  std::string_view left = reply[2].text;
  for (std::string_view& word : words) {
    const auto end = std::min(left.find(' '), left.size());
    word = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  net::Place place;
  if (words[0] == routing_.options.master && read_place(words[3], words[4], place))
    named(place, now);
}

}  // namespace

std::unique_ptr<Router> make_sentinel(const Routing& routing) {
  return std::make_unique<Sentinel>(routing);
}

}  // namespace holdfast::stores::redis
