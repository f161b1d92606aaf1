// The third room: how waiters learn that it is their turn, and what that costs.
#include <deque>

#include "lab/exhibits/commands.hpp"
#include "lab/exhibits/exhibit.hpp"

namespace holdfast::lab::exhibits {
namespace {

constexpr Nanos ttl = 3s;
constexpr Nanos work = 120ms;

// Plays `each` with five processes that come one after the other.
template <class Store>
void crowd(Stage& stage, Script (*each)(Actor& self, Store& store)) {
  auto& store = stage.node<Store>("redis");
  for (int number = 0; number < 5; ++number) {
    auto& actor = stage.actor();
    actor.plays(number * 13ms, each(actor, store));
  }
  stage.end = 1100ms;
}

Script polls(Actor& self, Keeper& store) {
  self.asks();
  while (true) {
    const Answer lock = co_await Question(self, store, redis::set(self, ttl));
    if (lock.yes) break;
    co_await self.sleep(Nanos(10ms) + self.number * 3ms);
  }
  self.enters();
  co_await self.sleep(work);
  self.leaves();
  co_await Question(self, store, redis::del_if_own(self));
}

// ── a message to all ────────────────────────────────────────────────────────────────────────────

class Publisher : public Keeper {
 public:
  using Keeper::Keeper;
  Request subscribe(Actor& self) {
    return {"SUBSCRIBE lock", [this, &self](Node&) {
              listeners_.push_back(&self);
              return Answer{true, "OK"};
            }};
  }
  Request release(Actor& self) {
    return {"EVAL: DEL lock, PUBLISH", [this, &self](Node&) {
              if (!is_of(self)) return Answer{false, "0"};
              drop("released");
              for (Actor* listener : listeners_)
                if (listener != &self) push(*listener, "free!");
              return Answer{true, "1"};
            }};
  }
  Request unsubscribe(Actor& self) {
    return {"UNSUBSCRIBE lock", [this, &self](Node&) {
              std::erase(listeners_, &self);
              return Answer{true, "OK"};
            }};
  }

 private:
  std::vector<Actor*> listeners_;
};

Script listens(Actor& self, Publisher& store) {
  self.asks();
  bool listening = false;
  while (true) {
    const Answer lock = co_await Question(self, store, redis::set(self, ttl));
    if (lock.yes) break;
    // Sleeps only once it is subscribed, or it would miss a message sent before that.
    if (listening)
      co_await self.told();
    else
      co_await Question(self, store, store.subscribe(self));
    listening = true;
  }
  self.enters();
  if (listening) co_await Question(self, store, store.unsubscribe(self));
  co_await self.sleep(work);
  self.leaves();
  co_await Question(self, store, store.release(self));
}

// ── the lock itself is handed over ──────────────────────────────────────────────────────────────

class Queue : public Keeper {
 public:
  using Keeper::Keeper;
  Request ask(Actor& self) {
    return {"EVAL: take it, or stand in line", [this, &self](Node&) {
              if (take(self, ttl)) return Answer{true, "OK"};
              line_.push_back(&self);
              return Answer{false, "in line"};
            }};
  }
  Request release(Actor& self) {
    return {"EVAL: pass it to the next", [this, &self](Node&) {
              if (!is_of(self)) return Answer{false, "0"};
              drop("handed over");
              if (!line_.empty()) {
                take(*line_.front(), ttl);
                push(*line_.front(), "yours!");
                line_.pop_front();
              }
              return Answer{true, "1"};
            }};
  }

 private:
  std::deque<Actor*> line_;
};

Script stands_in_line(Actor& self, Queue& store) {
  self.asks();
  const Answer lock = co_await Question(self, store, store.ask(self));
  if (!lock.yes) co_await self.told();
  self.enters();
  co_await self.sleep(work);
  self.leaves();
  co_await Question(self, store, store.release(self));
}

void herd_polling(Stage& stage) { crowd(stage, polls); }
void herd_notification(Stage& stage) { crowd(stage, listens); }
void herd_handover(Stage& stage) { crowd(stage, stands_in_line); }

constexpr Exhibit exhibits[] = {
    {.name = "herd-polling",
     .title = "Waiting by polling: many questions, and no order",
     .algorithm = "until SET lock A NX PX 3000 = OK: sleep 10 ms and a little more\n"
                  "work\n"
                  "EVAL: if GET lock = A then DEL lock",
     .story = "Five processes want the lock at the same time. All of them ask again and again; "
              "nearly all of it is in vain. Who gets it next is left to chance, and between a "
              "release and the next grant the lock lies idle.",
     .lesson = "Asking seldom is slow, asking often is expensive. Let the store say when the lock "
               "is free.",
     .next = "herd-notification",
     .play = herd_polling},
    {.name = "herd-notification",
     .title = "A message at each release: all wake up, one gets it",
     .algorithm = "until SET lock A NX PX 3000 = OK: SUBSCRIBE at first, then wait for a message\n"
                  "work\n"
                  "EVAL: if GET lock = A then DEL lock, PUBLISH free",
     .story = "Nobody asks in vain while the lock is held. But each release wakes the whole herd: "
              "all ask, one gets it. With a thousand in line it is a thousand questions for every "
              "release. Who is quickest wins.",
     .lesson = "Only one can get it: let the release choose that one, and tell nobody else.",
     .next = "herd-handover",
     .play = herd_notification},
    {.name = "herd-handover",
     .title = "Direct handover: the release grants the next in line, and tells just that one",
     .algorithm = "EVAL: take the lock, or stand in line; then wait for a message\n"
                  "work\n"
                  "EVAL: give the lock to the first in line, tell it",
     .story = "The release and the next grant are one step. Two questions for each process, "
              "however many wait; first come, first served; no time in which nobody holds it.",
     .lesson = "This is how holdfast hands a lock on, across processes; among the threads of one "
               "process it needs no question at all.",
     .next = "failover",
     .play = herd_handover},
};

}  // namespace

std::span<const Exhibit> herd_room() { return exhibits; }

}  // namespace holdfast::lab::exhibits
