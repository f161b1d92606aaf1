// holdfast/backend.hpp: what a store must do to carry locks. For those who add one; users of locks
// do not need it. src/stores/memory is the smallest example.
//
// A backend starts asks, renewals and releases, reports answers and events, and decides nothing
// else: retries, renewal, margins, re-entry, waiting and handover are decided once, in the core.
//
// The contract; tests/conformance checks it on every backend:
//  1. Of all live claims of one name, the weights of the granted never exceed the capacity.
//  2. A grant ends one ttl after the store accepted it or its last renewal, without our help.
//  3. Renew and release change nothing unless the claim id is a holder's (or waiter's) own.
//  4. With traits().tokens the numbers of one name strictly grow over all grants; they are minted
//  in
//     the same step as the grant. With traits().durable, across restarts of the store too.
//  5. A call starts and never waits. Its answer comes exactly once, from any thread, with no mutex
//  of
//     the backend held, and at the latest at the call's deadline: `unknown` if the store may have
//     applied it, `no` only if it definitely has not. The call is not touched after its answer.
//     Only list() has a deadline for each page instead: Pending::looked_at.
//  6. Asking again with the same claim id is the same ask: it answers what became of it.
//  7. After release(claim) was answered yes or gone, that claim neither holds nor waits. If the
//  drop
//     was doubtful, a late ask with that id is answered `gone` until its ttl has passed.
//
// Threads: every call may come from any thread, several at once. What a request points to (name,
// about, spans) stays alive until its answer.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/options.hpp"
#include "holdfast/result.hpp"

namespace holdfast {

// CLOCK_BOOTTIME: goes on during suspend, is never set.
struct BootClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};
using BootTime = BootClock::time_point;

using ClaimId = std::array<std::uint8_t, 16>;  // 128 random bits: request id and release capability

enum class Kind : std::uint8_t { mutex, rw, semaphore };
std::string_view to_string(Kind kind) noexcept;

// ── requests ─────────────────────────────────────────────────────────────────────────────────────
struct Ask {
  std::string_view name;
  ClaimId claim{};
  ClaimId instead{};      // a doubtful claim of ours, dropped (as doubtful) in the same step …
  Millis instead_ttl{0};  // … with this ttl; 0: there is none
  Kind kind{};
  std::uint32_t capacity = 1;
  std::uint32_t weight = 1;
  Millis ttl{};
  Millis lock_delay{};
  Purpose purpose{};       // correctness: refuse with unsupported if it cannot be given
  bool queue = false;      // stand in line if it is not free; else try once
  bool fair = true;        // false: may be granted before those in line
  std::string_view about;  // shown to others: host, process, program, label
};
struct Keep {
  std::string_view name;
  ClaimId claim{};
  std::uint32_t weight = 1;  // lower than before: downgrade
  Millis ttl{};
};
struct Drop {
  std::string_view name;
  ClaimId claim{};
  bool doubtful = false;  // also refuse a late ask with this id until its ttl has passed
  Millis ttl{};
};
struct Add {
  std::string_view name;
  std::int64_t by = 0, least = 0, most = 0;  // outside [least, most]: no, and nothing is changed
  Millis expiry{0};                          // 0: never; counted anew at each change …
  bool window = false;  // … or from the cell's first change on: a fixed window
};
struct Swap {
  std::string_view name;
  std::uint64_t if_version = 0;  // 0: only if it does not exist
  std::string_view bytes;
  Millis expiry{0};
};

// ── answers ──────────────────────────────────────────────────────────────────────────────────────
enum class Said : std::uint8_t {
  yes,      // granted, renewed, released
  queued,   // stands in line
  no,       // definitely nothing was written; problem says why (busy: somebody holds it)
  gone,     // definitely not (or no longer) there, or revoked
  unknown,  // it may have been applied
};
struct Problem {
  Errc errc{};
  std::string reason;  // a stable word
  std::string text;    // one line, no secrets
};
struct Answer {
  Said said{};
  std::uint64_t number = 0;   // yes to an ask: 53 bits; the token is made of it
  Millis ttl{};               // yes: granted. queued: ask again at the latest then; 0: not told
  std::int64_t store_us = 0;  // the store's own time of this answer; 0: it has none, or did nothing
  std::optional<Holder> holder{};
  Problem problem{};
};
struct Cell {
  Said said{};
  std::int64_t number = 0;
  std::uint64_t version = 0;  // 0: does not exist
  std::string bytes;
  Problem problem{};
};
struct Listing {
  std::vector<Holder> holders;
  Problem problem;  // errc 0: none
};
struct Promise {
  Guarantees guarantees;
  Problem problem{};
};
struct Inspection {
  std::vector<Fact> facts;
  Problem problem{};
};

// ── calls ────────────────────────────────────────────────────────────────────────────────────────
// Owned by whoever waits for the answer, never by a caller's stack.
class Call {
 public:
  BootTime deadline{};
  bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }

 protected:
  ~Call() = default;
  std::atomic<bool> finished_{
      false};  // set inside done(); the call may be gone when done() returns
};
template <class R>
class Pending : public Call {
 public:
  virtual void done(R answer) noexcept = 0;
  // For list(), with each page that was answered: so many keys were looked at, about. The page that
  // follows has until the deadline that this returns, so a listing lasts for as long as the store
  // answers. Called before done(), from any thread, maybe with a mutex held.
  virtual BootTime looked_at(std::uint64_t keys) noexcept {
    static_cast<void>(keys);
    return deadline;
  }

 protected:
  ~Pending() = default;
};

// ── the interface ────────────────────────────────────────────────────────────────────────────────
// An admission queue per name: a claim is granted when the weights of the live ones fit its
// capacity.
struct Claims {
  virtual void ask(const Ask& ask, Pending<Answer>& call) noexcept = 0;
  // One answer a request, in their order; none at all if there was no memory: nothing was done.
  virtual void renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept = 0;
  virtual void release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept = 0;
  // Who holds this very name and who waits for it: one request, whatever else the store keeps.
  virtual void describe(std::string_view name, Pending<Listing>& call) noexcept = 0;
  // The same of every name that begins so: reads all keys there, page after page.
  virtual void list(std::string_view prefix, Pending<Listing>& call) noexcept = 0;
  // The holders of name get gone() or a renewal's gone; now: they are dropped in this step.
  virtual void revoke(std::string_view name, bool now, Pending<Answer>& call) noexcept = 0;

 protected:
  ~Claims() = default;
};

// Bounded atomic integers and versioned bytes, for everything that is not a claim.
struct Cells {
  virtual void add(const Add& add, Pending<Cell>& call) noexcept = 0;
  virtual void swap(const Swap& swap, Pending<Cell>& call) noexcept = 0;
  virtual void get(std::string_view name, Pending<Cell>& call) noexcept = 0;

 protected:
  ~Cells() = default;
};

// What a store pushes to us; called from any thread inside help(), with no mutex held.
struct Hints {
  // A waiting claim was granted by another's release; the answer says yes and carries store_us.
  virtual void granted(std::string_view name, const ClaimId& claim,
                       const Answer& answer) noexcept = 0;
  // Something changed there: whoever waits asks again. No name: everywhere, messages were missed.
  virtual void look(std::string_view name) noexcept = 0;
  // A granted claim ended before its time.
  virtual void gone(std::string_view name, const ClaimId& claim) noexcept = 0;
  // Session stores: a request sent at `sent` proved the session alive for `ttl` from then on.
  virtual void alive(BootTime sent, Millis ttl) noexcept = 0;
  // Session stores: it could not be proven. Until it is again, what is held is at risk.
  virtual void in_doubt() noexcept = 0;
  // It works, but not as well as it should: once for each problem. The user gets a warning.
  virtual void warn(const Problem& problem) noexcept = 0;

 protected:
  ~Hints() = default;
};

enum class Validity : std::uint8_t {
  claim,       // each claim has a ttl of its own and is renewed
  session,     // all live and die with the session: alive() and gone() tell
  connection,  // the same, bound to one connection
};

// Differences between stores are declared here; a test is skipped by a trait, never by a name.
struct Traits {
  std::string_view scheme;
  Validity validity = Validity::claim;
  bool mutex = true;
  bool rw = true;
  bool semaphore = true;
  bool tokens = true;        // mints numbers: clause 4
  bool bare_tokens = false;  // a dialect: the token is the peer's own number, without our turns
  bool queues = true;        // keeps a line; otherwise an ask is answered yes or no
  bool notifies = true;      // sends granted() or look(); otherwise waiters ask again and again
  bool immediate = false;    // answers before the call returns: nobody needs to help
  bool ordered = false;      // does what one process starts for a name in that order, as a rule
  bool durable = false;      // grants and numbers survive a restart of the store
  bool processes = true;     // can be shared by several processes
  bool forks = true;         // a forked child may open it anew
  bool ends_with_process = false;  // a lease ends at once when its process has died
  bool cells = false;
  bool expiring_cells = false;
  Millis ttl_min{500};
  Millis ttl_max{std::chrono::hours(24)};
  Millis granularity{1};         // how much the store may shorten a lease
  Millis session{0};             // a session's length, as asked for: the ttl of all its leases
  std::uint32_t handovers = 64;  // in a row inside one process; 0: a dialect, or strict order
};

class Backend : public Claims {
 public:
  virtual ~Backend() = default;
  virtual const Traits& traits() const noexcept = 0;
  virtual Cells* cells() noexcept { return nullptr; }
  virtual void guarantees(Pending<Promise>& call) noexcept = 0;
  // as_new: refused (busy) while the store has locks or others are connected; where a new store
  // needs no mark it is the same as missing.
  virtual void init(Init what, Pending<Answer>& call) noexcept = 0;
  // What `show --verbose` prints; no secrets.
  virtual void inspect(Pending<Inspection>& call) noexcept { call.done({}); }

  // Nothing is held or owed any more: gives back what was kept for later use, and waits for that at
  // most until then. May be called again, and asks may follow.
  virtual void close(BootTime until) noexcept { static_cast<void>(until); }

  // Lends this thread: reads for all, does queued blocking work, delivers hints. Returns when
  // `call` is finished, at `until`, or soon after the descriptor `wake` (unless -1) became
  // readable. With no call: stays for messages, and also returns after it gave a hint or an answer,
  // for that may be what the thread waits for. Any number of threads may be in here, with no call
  // too: the hand always, and who is first in line for its own grant. Never called after the
  // destructor began.
  virtual void help(const Call* call, BootTime until, int wake) noexcept = 0;

  // Turns readable when help(nullptr, now, -1) has something to do; -1: never. A quorum waits for
  // all its nodes at once by it.
  virtual int readable() const noexcept { return -1; }
};

// ── how a store is found ─────────────────────────────────────────────────────────────────────────
// scheme:path?options or scheme://user:password@host:port,host:port/path?options; decoded.
struct Url {
  struct Host {
    std::string name;
    std::uint16_t port = 0;  // 0: the store's default
  };
  std::string scheme;
  std::string user;
  std::string password;
  bool has_authority = false;  // there was a "//"
  std::vector<Host> hosts;
  std::string path;  // behind the authority with its leading "/", or all behind "scheme:"
  std::map<std::string, std::string, std::less<>> options;
};

inline constexpr std::uint32_t module_version = 3;

struct Opening {
  const Url& url;  // without the options that every store has; an unknown one is refused
  Hints& hints;    // alive for as long as the backend
  // Opens another store, for those made of several; nullptr and a problem if it cannot.
  std::unique_ptr<Backend> (*other)(const Url& url, Hints& hints, Problem& problem);
};
struct Module {
  std::uint32_t version = module_version;
  const char* schemes = "";  // separated by spaces
  // Nothing is connected yet: the first call does. nullptr and a problem if the URL makes no sense.
  std::unique_ptr<Backend> (*open)(const Opening& opening, Problem& problem) = nullptr;
};

}  // namespace holdfast

// The one symbol of libholdfast-NAME.so.0, which is loaded at the first use of its scheme.
extern "C" const holdfast::Module* holdfast_module();
