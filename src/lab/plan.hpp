// lab/plan.hpp: what a seed decides in advance: the store, who wants what from it, and what goes
// wrong. Faults can be left out one by one without changing the rest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/world.hpp"

namespace holdfast::lab {

// The kind of store.
enum class Shape : std::uint8_t {
  single,      // one node
  sharded,     // several that do not know each other; each name lives on one of them
  replicated,  // a master, and a replica that follows it with a lag
  consensus,   // three that agree; claims live and die with sessions
};
// What a node still has after a crash.
enum class Memory : std::uint8_t { kept, lost, tail_lost };

struct StorePlan {
  Shape shape = Shape::single;
  Memory memory = Memory::kept;
  bool guard = false;    // the amnesia guard
  bool notifies = true;  // else waiters ask again and again
  bool hears = true;     // a process is told, after it was cut off, that it missed messages
  Millis guard_ttl{};    // at least as long as any ttl
  Millis session{};      // consensus: a session expires after this silence
  std::vector<std::int64_t> rates;  // of the nodes' clocks, in parts per million
};

struct LockPlan {
  Kind kind = Kind::mutex;
  std::uint32_t capacity = 1;
  Millis ttl{};
  Millis lock_delay{};
};

// How the clients of a process behave; odds are in percent.
struct HabitPlan {
  unsigned rounds = 10;    // acquires per client
  Nanos think{}, work{};   // at most, between two acquires and inside one
  unsigned long_work = 0;  // longer than the ttl
  unsigned tries = 0;      // without waiting
  unsigned timeouts = 0;   // waits with a deadline
  unsigned cancels = 0;    // cancelled at some moment
  unsigned reentries = 0;  // as an owner that may re-enter
  unsigned at_most = 0;    // with hold_at_most
  unsigned unfair = 0;     // with fair = false
  unsigned readers = 50;   // of a read-write lock
  bool threads = true;     // else coroutines
};

struct NoisePlan {
  unsigned lost_requests = 0;  // in percent
  unsigned lost_replies = 0;
  unsigned lost_messages = 0;
  unsigned late = 0;
  Nanos latest{};  // at most this late
};

enum class Where : std::uint8_t { anywhere, before_send, after_reply, inside };

struct Fault {
  enum class Kind : std::uint8_t {
    pause,        // of a process, or of a node
    crash,        // a process starts again after `length`; a node restarts
    cut,          // the link between a process and one node, or all; heals after `length`
    isolate,      // a node of a consensus is cut off from the others
    forget,       // a node loses its memory while it runs
    failover,     // the master crashes, and its replica takes over after `length`
    jump_wall,    // the wall clock of a process, by `amount`
    jump_clock,   // the clock of a node, by `amount`
    drift,        // a process's clock is off by `amount` parts per million from now on
    end_session,  // of a process
    revoke,       // an operator breaks the lock `name`; `flag`: at once
  };
  Kind kind{};
  Time at{};
  Nanos length{};
  std::int16_t process = nobody;
  std::int16_t node = nobody;
  std::uint16_t name = 0;
  Where where = Where::anywhere;   // of a pause: the first such moment from `at` on
  bool there = true, back = true;  // the directions of a cut
  bool flag = false;
  std::int64_t amount = 0;
};

struct Plan {
  std::uint64_t seed = 0;
  bool calms = false;  // the faults end; then everybody must be served and nothing may be left
  Time end{};          // of the faults, or of the whole story
  StorePlan store;
  std::vector<LockPlan> locks;
  std::vector<std::int64_t> rates;  // of each process's clock, in parts per million
  unsigned clients = 2;             // in each process
  std::uint32_t handovers = 64;
  HabitPlan habit;
  NoisePlan noise;
  std::uint32_t rare = 0;  // which of core::Rare may happen
  std::vector<Fault> faults;

  std::size_t processes() const noexcept { return rates.size(); }
  std::size_t nodes() const noexcept { return store.rates.size(); }
};

Plan plan_of(std::uint64_t seed);
// The same plan with another store, to play one story with and without what makes it safe.
Plan plan_of(std::uint64_t seed, Shape shape, Memory memory, bool guard);

std::string text(const Plan& plan);
std::string text(const Fault& fault);

}  // namespace holdfast::lab
