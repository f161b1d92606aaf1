// The fifth room: Redlock, and what its majority depends on: clocks, pauses, memory.
#include "lab/exhibits/exhibit.hpp"
#include "lab/exhibits/redlock.hpp"

namespace holdfast::lab::exhibits {
namespace {

constexpr std::string_view steps =
    "note the time; on all five nodes: SET lock A NX PX 400\n"
    "if three said OK and time is left: it is A's for 400 ms less what passed, less drift\n"
    "else on all five: EVAL: if GET lock = A then DEL lock; sleep, and again\n"
    "work\n"
    "on all five: EVAL: if GET lock = A then DEL lock";
constexpr std::string_view steps_and_write =
    "note the time; on all five nodes: SET lock A NX PX 400\n"
    "if three said OK and time is left: it is A's for 400 ms less what passed, less drift\n"
    "else on all five: EVAL: if GET lock = A then DEL lock; sleep, and again\n"
    "work\n"
    "write the result to the ledger\n"
    "on all five: EVAL: if GET lock = A then DEL lock";
constexpr std::string_view steps_and_number =
    "note the time; on all five nodes: SET lock A NX PX 400\n"
    "if three said OK and time is left: it is A's for 400 ms less what passed, less drift\n"
    "else on all five: EVAL: if GET lock = A then DEL lock; sleep, and again\n"
    "draw a number from the ledger, for Redlock has none\n"
    "work\n"
    "write the result and the number to the ledger\n"
    "on all five: EVAL: if GET lock = A then DEL lock";

struct Five {
  explicit Five(Stage& stage) {
    for (const char* name : {"node 1", "node 2", "node 3", "node 4", "node 5"}) {
      keepers.push_back(&stage.node<Keeper>(name));
      lock.nodes.push_back(keepers.back());
    }
  }
  std::vector<Keeper*> keepers;
  Redlock lock;
};

void redlock(Stage& stage) {
  const Five five(stage);
  auto& a = stage.actor();
  auto& b = stage.actor();
  // A is nearer to nodes 1 to 3, B to nodes 4 and 5.
  for (const std::size_t far : {3U, 4U}) stage.set_way(a, *five.keepers[far], 22ms);
  for (const std::size_t far : {0U, 1U, 2U}) stage.set_way(b, *five.keepers[far], 22ms);
  a.plays(0ms, with_redlock(a, five.lock, nullptr, 200ms));
  b.plays(5ms, with_redlock(b, five.lock, nullptr, 150ms));
  stage.end = 700ms;
}

// A reaches nodes 1 to 3, and B comes later. Between the two, `disturb` harms node 3.
template <Fence fence, class Disturb>
void three_of_five(Stage& stage, Disturb disturb) {
  const Five five(stage);
  auto& ledger = stage.node<Ledger>("ledger", fence);
  auto& a = stage.actor();
  auto& b = stage.actor();
  stage.cut(a, *five.keepers[3]);
  stage.cut(a, *five.keepers[4]);
  a.plays(0ms, with_redlock(a, five.lock, &ledger, 300ms));
  b.plays(170ms, with_redlock(b, five.lock, &ledger, 80ms));
  disturb(*five.keepers[2]);
  stage.end = 500ms;
}

template <Fence fence>
void clock_jump(Stage& stage) {
  three_of_five<fence>(stage, [](Keeper& node) { node.jumps(120ms, 600ms); });
}

template <Fence fence>
void empty_restart(Stage& stage) {
  three_of_five<fence>(stage, [](Keeper& node) { node.restarts_empty(100ms, 140ms); });
}

template <Fence fence>
void pause(Stage& stage) {
  const Five five(stage);
  auto& ledger = stage.node<Ledger>("ledger", fence);
  auto& a = stage.actor();
  auto& b = stage.actor();
  a.plays(0ms, with_redlock(a, five.lock, &ledger, 200ms));
  b.plays(430ms, with_redlock(b, five.lock, &ledger, 80ms));
  a.pauses(120ms, 620ms);
  stage.end = 750ms;
}

constexpr Exhibit exhibits[] = {
    {.name = "redlock",
     .title = "Redlock: a majority of independent nodes",
     .algorithm = steps,
     .story =
         "A and B ask at the same moment. A is quicker at nodes 1, 2 and 3, a majority; B gets "
         "only two, lets go of all it got and tries again. When A is done, B gets all five.",
     .lesson = "Two nodes may die and it still works. But each node measures the time with its own "
               "clock, and that is what the next one is about.",
     .next = "redlock-clock-jump",
     .play = redlock},
    {.name = "redlock-clock-jump",
     .title = "Redlock, and the clock of one node jumps",
     .algorithm = steps_and_write,
     .story = "A has the majority of nodes 1, 2 and 3; nodes 4 and 5 it cannot reach. The clock of "
              "node 3 is set forward, so the key ends there at once. B asks: nodes 3, 4 and 5 say "
              "yes. Two majorities at the same time; the write of A comes after that of B.",
     .lesson = "The lock holds only as long as the clocks of a majority do. The ledger needs no "
               "clock.",
     .next = "redlock-clock-jump-fenced",
     .play = clock_jump<Fence::off>},
    {.name = "redlock-clock-jump-fenced",
     .title = "The same clock jump, and a ledger that refuses old tokens",
     .algorithm = steps_and_number,
     .story = "Two majorities, as before. A drew number 33 and B number 34, so the late write of A "
              "is refused.",
     .lesson =
         "Redlock mints no token, and to count one by majority is consensus already. Here the "
         "resource counts. Next: no clock is wrong, but a process stands still.",
     .next = "redlock-pause",
     .play = clock_jump<Fence::on>},
    {.name = "redlock-pause",
     .title = "Redlock, and a pause after the quorum",
     .algorithm = steps_and_write,
     .story = "A gets all five nodes and is paused at its work. All five keys expire, B gets the "
              "lock and writes. A wakes up and writes. That the lock was valid when A began does "
              "not help: the pause can come after any look at the clock.",
     .lesson = "More nodes do not help against a pause of the client. Only the ledger sees both "
               "writes.",
     .next = "redlock-pause-fenced",
     .play = pause<Fence::off>},
    {.name = "redlock-pause-fenced",
     .title = "The same pause, and a ledger that refuses old tokens",
     .algorithm = steps_and_number,
     .story = "A wakes up with number 33. The ledger has seen 34 and refuses.",
     .lesson = "What is left is the memory of the nodes themselves.",
     .next = "redlock-empty-restart",
     .play = pause<Fence::on>},
    {.name = "redlock-empty-restart",
     .title = "Redlock, and a node that restarts without its memory",
     .algorithm = steps_and_write,
     .story = "A has nodes 1, 2 and 3. Node 3 crashes and comes back empty. B gets nodes 3, 4 and "
              "5: a node that forgot has voted twice.",
     .lesson = "A node that may have forgotten must stay away for as long as any lock lives, or "
               "write each vote to its disk before it answers. And, as always, the ledger.",
     .next = "redlock-empty-restart-fenced",
     .play = empty_restart<Fence::off>},
    {.name = "redlock-empty-restart-fenced",
     .title = "The same restart, and a ledger that refuses old tokens",
     .algorithm = steps_and_number,
     .story = "Node 3 votes twice, as before; A has number 33 and B 34. The late write of A is "
              "refused.",
     .lesson = "A store by consensus does not forget, and counts by itself. Is it then enough?",
     .next = "zookeeper-session",
     .play = empty_restart<Fence::on>},
};

}  // namespace

std::span<const Exhibit> redlock_room() { return exhibits; }

}  // namespace holdfast::lab::exhibits
