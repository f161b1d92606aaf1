// holdfast/options.hpp: the choices a caller has, as plain structs with defaults that are right for
// most; and what a store reports: events, counts, guarantees.
//
//   store.lock("orders/42", {.ttl = 10s, .purpose = holdfast::Purpose::correctness});
//
// The order of the fields is the order of designated initializers; new ones go to the end.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "holdfast/names.hpp"
#include "holdfast/result.hpp"

namespace holdfast {

enum class Purpose : std::uint8_t {
  efficiency,   // a rare double run wastes work
  correctness,  // a double run damages data: the token must be checked by what is written to
};

struct LockOptions {
  Millis ttl{30'000};     // how long a crashed holder blocks the others; renewed every ttl/3
  Millis wait = forever;  // of acquire, lock, with_lock; then busy. 0 tries once
  Millis hold_at_most = forever;  // the lease ends by itself
  Purpose purpose = Purpose::efficiency;
  bool fair = true;              // false: may be granted before others in the store's line
  std::optional<Owner> owner{};  // handles: the same owner enters again. Unset: nobody does
  // Shown by `holdfast ls`; at most 1 KiB. Copied by the call that takes these options.
  std::string_view label{};
  Millis lock_delay{0};  // after a holder died (not released), nobody enters for that long
  Millis margin{0};      // lost() fires this long before the end; 0: max(50 ms, ttl/20)
};

// How long to wait before trial number `attempt` (1, 2, …) at a store that sends no notification;
// `random` is uniform over all 64 bits. Zero means: at once, after yielding the processor.
using NextDelay =
    std::function<std::chrono::microseconds(std::uint32_t attempt, std::uint64_t random)>;
NextDelay spin();
NextDelay spin_then_sleep(std::uint32_t spins, Millis pause);
NextDelay sleep(Millis pause);
NextDelay decorrelated_jitter(Millis least, Millis most);  // the default: 5 ms to 250 ms

// GCC 12 destroys an aggregate twice that is made inside a co_await expression, as in
// co_await store.lock("orders/42", {.ttl = 10s}).acquire_async(). So nothing in it may own memory.
static_assert(std::is_trivially_copyable_v<LockOptions>);

struct Event {
  enum class Kind : std::uint8_t {
    acquired,     // after: how long it took
    handed_over,  // acquired within the process, without asking the store
    renewed,
    at_risk,  // a renewal failed or is late; the lease still counts
    safe,     // renewed after at_risk
    lost,
    released,  // after: how long it was held
    not_held,  // unlock() of what was not held: nothing changed
    handler_threw,
    warning,  // the store works, but not as well as it should; text: why, no name
  };
  Kind kind{};
  std::string name;
  Token token;
  Millis after{0};
  std::string reason;  // a stable word, where there is one
  std::string text{};  // one line, of a warning
};

// With GCC 12, do not write these inside a co_await expression: open the store before.
struct StoreOptions {
  Millis patience{30'000};         // a store that does not answer is given up after this
  Millis release_deadline{1'000};  // the longest a destructor waits
  std::function<void(std::coroutine_handle<>)> resume{};  // posts to the user's executor
  std::function<void(const Event&)> on_event{};  // on a callback thread, in order; bounded queue
  NextDelay next_delay{};                        // for stores without notification
};

struct Stats {
  std::uint64_t acquired = 0;
  std::uint64_t handed_over = 0;  // of those, without asking the store
  std::uint64_t released = 0;
  std::uint64_t renewed = 0;
  std::uint64_t at_risk = 0;
  std::uint64_t lost = 0;
  std::uint64_t busy = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t unavailable = 0;
  std::uint64_t asks = 0;  // requests to the store, by kind
  std::uint64_t drops = 0;
  std::uint64_t renewals = 0;
  std::uint64_t debts = 0;  // releases and withdrawals not yet confirmed, now
  std::uint64_t events_dropped = 0;
  std::uint64_t handlers_threw = 0;
};

// What Store::init does.
enum class Init : std::uint8_t {
  missing,  // creates what the store needs and lacks: folders, tables
  as_new,   // and declares that it has never had a lock, which its first use need not wait for then
};

// What a store promises as it is configured; `because` holds one sentence a fact.
struct Guarantees {
  Purpose purpose = Purpose::efficiency;  // the most it can serve
  bool tokens = false;
  bool fifo = false;
  bool survives_restart = false;
  bool survives_power_loss = false;
  bool survives_clock_jump = false;
  std::vector<std::string> because;
};

// What a store tells of itself, for people to read: {"journal", "wal"}.
struct Fact {
  std::string word;
  std::string text;
};

}  // namespace holdfast
