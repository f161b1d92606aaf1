// holdfast/options.hpp: what a caller can choose, in plain structs whose defaults suit most uses;
// and what a store reports: events, counts, guarantees.
//
//   store.lock("orders/42", {.ttl = 10s, .purpose = holdfast::Purpose::correctness});
//
// Designated initializers must follow the order of the fields, so new fields go to the end.
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
  correctness,  // a double run damages data: what you write to must check the token
};

struct LockOptions {
  Millis ttl{30'000};     // how long a crashed holder blocks the others; renewed every ttl/3
  Millis wait = forever;  // of acquire, lock, with_lock; then busy. 0 tries once
  Millis hold_at_most = forever;  // then the lease ends, renewed or not
  Purpose purpose = Purpose::efficiency;
  bool fair = true;              // false: may be granted before others in the store's line
  std::optional<Owner> owner{};  // who may re-enter what acquire… took; unset: nobody
  // `holdfast ls` shows it; at most 1 KiB. The call that takes these options copies it.
  std::string_view label{};
  Millis lock_delay{0};  // after a holder died without releasing, nobody enters for this long
  Millis margin{0};      // lost() fires this long before the end; 0: max(50 ms, ttl/20)
};

// How long to wait before trial number `attempt` (1, 2, …) at a store that sends no notification;
// `random` is uniform over all 64 bits. Zero: at once; an exception counts as 50 ms. It must not
// block, because any thread may call it, even the one that renews the store's leases.
using NextDelay =
    std::function<std::chrono::microseconds(std::uint32_t attempt, std::uint64_t random)>;
NextDelay spin();
NextDelay spin_then_sleep(std::uint32_t spins, Millis pause);
NextDelay sleep(Millis pause);
NextDelay decorrelated_jitter(Millis least, Millis most);  // the default: 5 ms to 250 ms

// If a co_await expression makes an aggregate, GCC 12 destroys it twice, as in
// co_await store.lock("orders/42", {.ttl = 10s}).acquire_async(). So no member may own memory.
static_assert(std::is_trivially_copyable_v<LockOptions>);

struct Event {
  enum class Kind : std::uint8_t {
    acquired,     // after: how long it took
    handed_over,  // acquired inside the process, without asking the store
    renewed,
    at_risk,  // a renewal failed or is late; the lease still counts
    safe,     // renewed after at_risk
    lost,
    released,       // after: how long it was held
    not_held,       // unlock() without a lock: nothing changed
    handler_threw,  // never sent; see Stats::handlers_threw
    warning,        // the store works, but not as well as it should; text: why. Has no name
  };
  Kind kind{};
  std::string name;
  Token token;
  Millis after{0};
  std::string reason;  // a stable word, where there is one
  std::string text{};  // of a warning: one line
};

// With GCC 12, do not make these inside a co_await expression: open the store before it.
struct StoreOptions {
  Millis patience{30'000};         // how long a caller waits for a store that does not answer
  Millis release_deadline{1'000};  // the longest a destructor waits
  // Posts a coroutine whose wait is over to your executor. Unset: a callback thread resumes it.
  // Called on a callback thread, or on any thread that is inside a call of the library: release(),
  // ~Lease, acquire, close, the stop callback of a cancelled wait. Never on the timer thread or a
  // store thread, never with a mutex of the library held, maybe on several threads at once. Not
  // called if co_await need not suspend.
  //   throw   It must not: an exception ends the process (std::terminate).
  //   block   It should not: that call waits, and so does what it still has to wake or stop.
  //   resume  It may resume in place. The coroutine then runs inside somebody else's call, under
  //           whatever locks that caller holds, so posting is safer.
  std::function<void(std::coroutine_handle<>)> resume{};
  std::function<void(const Event&)> on_event{};  // on a callback thread, in order; bounded queue
  NextDelay next_delay{};                        // for stores that send no notification
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
  std::uint64_t debts = 0;  // releases and withdrawals that are not confirmed at this moment
  std::uint64_t events_dropped = 0;
  std::uint64_t handlers_threw = 0;
};

// What Store::init does.
enum class Init : std::uint8_t {
  missing,  // creates what the store needs and lacks: folders, tables
  as_new,   // and declares that it has never had a lock, so that its first use need not wait
};

// What a store promises in its configuration; `because` holds one sentence per fact.
struct Guarantees {
  Purpose purpose = Purpose::efficiency;  // the strictest it can serve
  bool tokens = false;
  bool fifo = false;
  bool survives_restart = false;
  bool survives_power_loss = false;
  bool survives_clock_jump = false;
  std::vector<std::string> because;
};

// What a store says about itself, for people to read: {"journal", "wal"}.
struct Fact {
  std::string word;
  std::string text;
};

}  // namespace holdfast
