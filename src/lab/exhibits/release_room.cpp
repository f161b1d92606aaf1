// The first room: a key in Redis, and how its holder releases it.
#include "lab/exhibits/commands.hpp"
#include "lab/exhibits/exhibit.hpp"

namespace holdfast::lab::exhibits {
namespace {

constexpr Nanos ttl = 300ms;
constexpr Nanos again = 80ms;  // between two tries

Script with_setnx(Actor& self, Node& store) {
  self.asks();
  while (true) {
    const Answer lock = co_await Question(self, store, redis::setnx(self));
    if (lock.yes) break;
    co_await self.sleep(again);
  }
  self.enters();
  co_await self.sleep(200ms);
  self.leaves();
  co_await Question(self, store, redis::del());
}

void setnx(Stage& stage) {
  auto& store = stage.node<Keeper>("redis");
  auto& a = stage.actor();
  auto& b = stage.actor();
  a.plays(0ms, with_setnx(a, store));
  b.plays(80ms, with_setnx(b, store));
  a.dies(150ms);
  stage.end = 900ms;
}

Script with_setnx_and_expire(Actor& self, Node& store) {
  self.asks();
  while (true) {
    const Answer lock = co_await Question(self, store, redis::setnx(self));
    if (lock.yes) break;
    co_await self.sleep(again);
  }
  co_await Question(self, store, redis::expire(self, ttl));
  self.enters();
  co_await self.sleep(200ms);
  self.leaves();
  co_await Question(self, store, redis::del());
}

void setnx_expire(Stage& stage) {
  auto& store = stage.node<Keeper>("redis");
  auto& a = stage.actor();
  auto& b = stage.actor();
  a.plays(0ms, with_setnx_and_expire(a, store));
  b.plays(80ms, with_setnx_and_expire(b, store));
  a.dies(25ms);  // the answer to SETNX is on its way
  stage.end = 900ms;
}

enum class Release { plain, checked_first, checked_in_script };

Script with_expiry(Actor& self, Node& store, Release release, Nanos work) {
  self.asks();
  while (true) {
    const Answer lock = co_await Question(self, store, redis::set(self, ttl));
    if (lock.yes) break;
    co_await self.sleep(again);
  }
  self.enters();
  co_await self.sleep(work);
  self.leaves();
  if (release == Release::plain) {
    co_await Question(self, store, redis::del());
  } else if (release == Release::checked_in_script) {
    co_await Question(self, store, redis::del_if_own(self));
  } else {
    const auto owner = co_await Question(self, store, redis::get());
    if (owner.words == self.name()) co_await Question(self, store, redis::del());
  }
}

// A finishes in time, but its release reaches the store when B already has the lock.
Actor& late_release(Stage& stage, Release release) {
  auto& store = stage.node<Keeper>("redis");
  auto& a = stage.actor();
  auto& b = stage.actor();
  auto& c = stage.actor();
  a.plays(0ms, with_expiry(a, store, release, 200ms));
  b.plays(100ms, with_expiry(b, store, release, 250ms));
  c.plays(390ms, with_expiry(c, store, release, 120ms));
  stage.end = 850ms;
  return a;
}

void plain_del(Stage& stage) {
  auto& a = late_release(stage, Release::plain);
  stage.at(200ms, [&a] { a.next_message_takes(200ms); });
}

void get_then_del(Stage& stage) {
  late_release(stage, Release::checked_first).pauses(250ms, 420ms);
}

void owner_script(Stage& stage) {
  auto& a = late_release(stage, Release::checked_in_script);
  stage.at(200ms, [&a] { a.next_message_takes(200ms); });
}

constexpr Exhibit exhibits[] = {
    {.name = "setnx",
     .title = "SETNX and DEL: the holder dies, and nobody ever gets in again",
     .algorithm = "until SETNX lock A = 1: sleep\n"
                  "work\n"
                  "DEL lock",
     .story = "A takes the lock and dies at its work. Its key has no end, so B asks in vain, for "
              "ever. Somebody has to delete the key by hand.",
     .lesson = "A lock must end without the help of its holder: give the key an expiry.",
     .next = "setnx-expire",
     .play = setnx},
    {.name = "setnx-expire",
     .title = "SETNX, then EXPIRE: the holder dies between the two",
     .algorithm = "until SETNX lock A = 1: sleep\n"
                  "PEXPIRE lock 300\n"
                  "work\n"
                  "DEL lock",
     .story = "A takes the lock and dies before it has said when it ends. The key is as eternal as "
              "it was without EXPIRE.",
     .lesson = "Key and expiry must be made in one step: SET lock A NX PX 300.",
     .next = "plain-del",
     .play = setnx_expire},
    {.name = "plain-del",
     .title = "SET NX PX with a plain DEL: a late release frees the lock of another",
     .algorithm = "until SET lock A NX PX 300 = OK: sleep\n"
                  "work\n"
                  "DEL lock",
     .story =
         "A is done in time, but its DEL is held up on the way. Meanwhile its key expires, and "
         "B gets the lock. Then the DEL comes and deletes the key of B: C gets in while B is "
         "still at work. B's own DEL will do the same to C.",
     .lesson = "Only the owner may release: the value of the key says whose it is, so look first.",
     .next = "get-then-del",
     .play = plain_del},
    {.name = "get-then-del",
     .title = "GET, then DEL: the lock changes hands between the look and the deed",
     .algorithm = "until SET lock A NX PX 300 = OK: sleep\n"
                  "work\n"
                  "if GET lock = A: DEL lock",
     .story = "A looks and sees its own name. Then it is paused (a garbage collection, a stopped "
              "virtual machine), its key expires and B gets the lock. A wakes up and deletes what "
              "was A's when it looked, and is B's now. C gets in beside B.",
     .lesson = "Looking and deleting must be one step, where the key is: a script.",
     .next = "owner-script",
     .play = get_then_del},
    {.name = "owner-script",
     .title = "Owner check and DEL in one script: a late release does nothing",
     .algorithm = "until SET lock A NX PX 300 = OK: sleep\n"
                  "work\n"
                  "EVAL: if GET lock = A then DEL lock",
     .story = "The release of A comes as late as it did before. The script finds B's name in the "
              "key and leaves it alone. C waits until B is done.",
     .lesson = "The release is right now. But A was done in time: what if its work takes longer "
               "than the key lives?",
     .next = "fixed-ttl",
     .play = owner_script},
};

}  // namespace

std::span<const Exhibit> release_room() { return exhibits; }

}  // namespace holdfast::lab::exhibits
