// The sixth room: ZooKeeper, which neither forgets nor trusts clocks, but cannot see a pause.
#include <algorithm>

#include "lab/exhibits/exhibit.hpp"
#include "lab/exhibits/keeper.hpp"
#include "lab/exhibits/ledger.hpp"

namespace holdfast::lab::exhibits {
namespace {

constexpr Nanos timeout = 300ms;  // of a session

// The whole ensemble as one node: sessions, ephemeral sequential znodes, watches.
class ZooKeeper : public Keeper {
 public:
  using Keeper::Keeper;

  Request create(Actor& self) {
    return {"create -e -s /lock/n-", [this, &self](Node&) {
              line_.push_back({&self, ++counter, machine.boot()});
              watch_session(self);
              serve();
              return Answer{true, "node", counter};
            }};
  }
  Request first(Actor& self) {
    return {"getChildren /lock, watch the one before", [this, &self](Node&) {
              const bool yes = is_of(self);
              const auto front = std::to_string(line_.front().number);
              return Answer{yes, stage.kept(front + (yes ? " is first" : " is before"))};
            }};
  }
  Request ping(Actor& self) {
    return {"ping", [this, &self](Node&) {
              const auto place = find(self);
              if (place == line_.end()) return Answer{false, "session expired"};
              place->heard = machine.boot();
              return Answer{true, "pong"};
            }};
  }
  Request remove(Actor& self) {
    return {"delete /lock/n-", [this, &self](Node&) {
              const bool there = find(self) != line_.end();
              if (there) leave(self, "released");
              return Answer{there, there ? "OK" : "session expired"};
            }};
  }

 private:
  struct Place {
    Actor* who;
    std::uint64_t number;
    BootTime heard;
  };
  std::vector<Place>::iterator find(const Actor& who) {
    return std::ranges::find(line_, &who, &Place::who);
  }
  void watch_session(Actor& who) {
    const auto place = find(who);
    if (place == line_.end()) return;
    if (machine.boot() >= place->heard + timeout) return leave(who, "session expired");
    machine.at_boot(place->heard + timeout, [this, &who] { watch_session(who); });
  }
  void leave(Actor& who, const char* why) {
    const auto left = std::to_string(find(who)->number);
    line_.erase(find(who));
    if (!is_of(who)) return;
    drop(why);
    serve();
    if (Actor* next = owner()) push(*next, stage.kept(left + " is gone"));
  }
  void serve() {
    if (!line_.empty()) take(*line_.front().who, {});
  }

  std::vector<Place> line_;
};

Script keeps_session(Actor& self, ZooKeeper& store) {
  while (true) {
    co_await self.sleep(timeout / 3);
    if (!self.wants()) co_return;
    const Answer alive = co_await Question(self, store, store.ping(self));
    if (!alive.yes) co_return self.loses("its session expired");
  }
}

Script in_a_session(Actor& self, ZooKeeper& store, Ledger& ledger, Nanos work) {
  self.asks();
  const auto node = co_await Question(self, store, store.create(self));
  self.begins(keeps_session(self, store));
  const Answer first = co_await Question(self, store, store.first(self));
  if (!first.yes) co_await self.told();
  const std::uint64_t token = ledger.fence() == Fence::on ? node.number : 0;
  self.enters(token);
  co_await self.sleep(work);
  const Answer written = co_await Question(self, ledger, ledger.write(self, token));
  if (!written.yes) self.loses("its token is too old");
  self.leaves();
  co_await Question(self, store, store.remove(self));
}

template <Fence fence>
void session(Stage& stage) {
  auto& store = stage.node<ZooKeeper>("zookeeper");
  auto& ledger = stage.node<Ledger>("ledger", fence);
  auto& a = stage.actor();
  auto& b = stage.actor();
  a.plays(0ms, in_a_session(a, store, ledger, 250ms));
  b.plays(75ms, in_a_session(b, store, ledger, 100ms));
  a.pauses(200ms, 690ms);
  stage.end = 850ms;
}

constexpr Exhibit exhibits[] = {
    {.name = "zookeeper-session",
     .title = "ZooKeeper: the session expires during a pause",
     .algorithm = "create an ephemeral node with the next number\n"
                  "until it is the first: watch the one before it\n"
                  "work; beside it: ping, so that the session lives\n"
                  "write the result to the ledger\n"
                  "delete the node",
     .story =
         "A is first in line and holds the lock. It is paused, so no ping comes, its session "
         "expires and its node is removed. B is told, enters and writes. A wakes up and writes "
         "before it hears that its session is gone.",
     .lesson = "The store did everything right; it is the process that was late. The number of the "
               "node grows with every grant and makes a fine token.",
     .next = "zookeeper-session-fenced",
     .play = session<Fence::off>},
    {.name = "zookeeper-session-fenced",
     .title = "The same session, and a ledger that refuses old tokens",
     .algorithm = "create an ephemeral node with the next number: the token\n"
                  "until it is the first: watch the one before it\n"
                  "work; beside it: ping, so that the session lives\n"
                  "write the result and the token to the ledger\n"
                  "delete the node",
     .story = "A has token 33, B has 34. The ledger has seen 34 when A wakes up, and refuses it.",
     .lesson =
         "Consensus gives a lock that is never granted twice by mistake, and tokens that never "
         "go back. The token is what makes it safe.",
     .next = "database-row",
     .play = session<Fence::on>},
};

}  // namespace

std::span<const Exhibit> session_room() { return exhibits; }

}  // namespace holdfast::lab::exhibits
