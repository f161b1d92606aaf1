// The second room: how long a lock should live, and how a pause defeats every choice.
#include "lab/exhibits/commands.hpp"
#include "lab/exhibits/exhibit.hpp"
#include "lab/exhibits/ledger.hpp"

namespace holdfast::lab::exhibits {
namespace {

constexpr Nanos ttl = 300ms;
constexpr Nanos again = 80ms;

Script for_a_fixed_time(Actor& self, Node& store, Nanos work) {
  self.asks();
  while (true) {
    const Answer lock = co_await Question(self, store, redis::set(self, ttl));
    if (lock.yes) break;
    co_await self.sleep(again);
  }
  self.enters();
  co_await self.sleep(work);
  self.leaves();
  co_await Question(self, store, redis::del_if_own(self));
}

void fixed_ttl(Stage& stage) {
  auto& store = stage.node<Keeper>("redis");
  auto& a = stage.actor();
  auto& b = stage.actor();
  a.plays(0ms, for_a_fixed_time(a, store, 450ms));
  b.plays(100ms, for_a_fixed_time(b, store, 250ms));
  stage.end = 750ms;
}

Script renewal(Actor& self, Node& store) {
  while (true) {
    co_await self.sleep(ttl / 3);
    if (!self.holds()) co_return;
    const Answer still = co_await Question(self, store, redis::extend_if_own(self, ttl));
    if (!still.yes) self.loses("its key is gone");
  }
}

Script renewed(Actor& self, Node& store, Nanos work) {
  self.asks();
  while (true) {
    const Answer lock = co_await Question(self, store, redis::set(self, ttl));
    if (lock.yes) break;
    co_await self.sleep(again);
  }
  self.enters();
  self.begins(renewal(self, store));
  co_await self.sleep(work);
  self.leaves();
  co_await Question(self, store, redis::del_if_own(self));
}

void watchdog(Stage& stage) {
  auto& store = stage.node<Keeper>("redis");
  auto& a = stage.actor();
  auto& b = stage.actor();
  a.plays(0ms, renewed(a, store, 450ms));
  b.plays(100ms, renewed(b, store, 150ms));
  stage.end = 850ms;
}

// Writes at the end of its work, with the number of its grant if the ledger checks tokens.
Script renewed_writer(Actor& self, Node& store, Ledger& ledger, Nanos work) {
  const bool fenced = ledger.fence() == Fence::on;
  self.asks();
  Answer lock;
  while (!lock.yes) {
    Request request = fenced ? redis::set_and_count(self, ttl) : redis::set(self, ttl);
    lock = co_await Question(self, store, std::move(request));
    if (!lock.yes) co_await self.sleep(again);
  }
  self.enters(lock.number);
  self.begins(renewal(self, store));
  co_await self.sleep(work);
  const Answer written = co_await Question(self, ledger, ledger.write(self, lock.number));
  if (!written.yes) self.loses("its token is too old");
  self.leaves();
  co_await Question(self, store, redis::del_if_own(self));
}

template <Fence fence>
void watchdog_pause(Stage& stage) {
  auto& store = stage.node<Keeper>("redis");
  auto& ledger = stage.node<Ledger>("ledger", fence);
  auto& a = stage.actor();
  auto& b = stage.actor();
  a.plays(0ms, renewed_writer(a, store, ledger, 250ms));
  b.plays(100ms, renewed_writer(b, store, ledger, 100ms));
  a.pauses(180ms, 720ms);
  stage.end = 900ms;
}

constexpr Exhibit exhibits[] = {
    {.name = "fixed-ttl",
     .title = "A fixed time to live, and work that takes longer",
     .algorithm = "until SET lock A NX PX 300 = OK: sleep\n"
                  "work\n"
                  "EVAL: if GET lock = A then DEL lock",
     .story = "The key lives 300 ms, the work of A takes 450. B gets the lock while A is still at "
              "work, and neither knows of the other.",
     .lesson = "Nobody knows beforehand how long work takes. Let the holder renew its key while it "
               "is at work: a watchdog.",
     .next = "watchdog",
     .play = fixed_ttl},
    {.name = "watchdog",
     .title = "A watchdog renews the key while the work goes on",
     .algorithm = "until SET lock A NX PX 300 = OK: sleep\n"
                  "work; beside it, every 100 ms: EVAL: if GET lock = A then PEXPIRE lock 300\n"
                  "EVAL: if GET lock = A then DEL lock",
     .story = "The same work, longer than the key would live. A renews it every third of its time "
              "to live; B gets in when A is done. Had A died, the key would end at most 300 ms "
              "later.",
     .lesson = "The watchdog runs in the process that it watches. What if that process stands "
               "still?",
     .next = "watchdog-pause",
     .play = watchdog},
    {.name = "watchdog-pause",
     .title = "A watchdog in a process that is paused for longer than the key lives",
     .algorithm = "until SET lock A NX PX 300 = OK: sleep\n"
                  "work; beside it, every 100 ms: EVAL: if GET lock = A then PEXPIRE lock 300\n"
                  "write the result to the ledger\n"
                  "EVAL: if GET lock = A then DEL lock",
     .story = "A is paused at its work, and its watchdog with it. The key expires, B gets the lock "
              "and writes. A wakes up where it stood and writes over it. It learns that it lost "
              "the lock when the write is done.",
     .lesson = "No lock with an expiry can prevent this, for a process may be paused between its "
               "last look and its write. But the ledger can refuse: each grant gets a number, and "
               "a write with an older number than the newest is not accepted.",
     .next = "watchdog-pause-fenced",
     .play = watchdog_pause<Fence::off>},
    {.name = "watchdog-pause-fenced",
     .title = "The same pause, and a ledger that refuses old tokens",
     .algorithm = "until EVAL: SET lock A NX PX 300, INCR counter = token: sleep\n"
                  "work; beside it, every 100 ms: EVAL: if GET lock = A then PEXPIRE lock 300\n"
                  "write the result and the token to the ledger\n"
                  "EVAL: if GET lock = A then DEL lock",
     .story = "A has token 33, and B, which came after it, 34. A wakes up and writes as it did "
              "before. The ledger has seen 34 and refuses.",
     .lesson = "For a moment both believe that they hold the lock; it does no harm any more. This "
               "is the fencing token that every lease of holdfast carries.",
     .next = "herd-polling",
     .play = watchdog_pause<Fence::on>},
};

}  // namespace

std::span<const Exhibit> expiry_room() { return exhibits; }

}  // namespace holdfast::lab::exhibits
