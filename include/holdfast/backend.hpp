// holdfast/backend.hpp: what a store must do to keep locks. Only people who add a store need this
// page. src/stores/memory is the smallest example.
//
// A backend starts asks, renewals and releases, reports answers and events, and decides nothing
// else. The core decides on retries, renewal, margins, re-entry, waiting and handover, once for all
// stores.
//
// The contract, which tests/conformance checks on every backend:
//  1. The weights of the granted claims of one name never add up to more than its capacity.
//  2. A grant ends by itself one ttl after the store accepted it or its last renewal.
//  3. Renew and release change nothing unless the claim id is that of a holder (or waiter).
//  4. With traits().tokens the numbers of one name strictly grow over all grants, and the store
//     mints each in the same step as the grant. With traits().durable they also grow across
//     restarts of the store.
//  5. A call starts and never waits. Its answer comes exactly once, from any thread, with no mutex
//     of the backend held, and at the latest at the call's deadline: `unknown` if the store may
//     have applied it, `no` only if it definitely has not. The backend does not touch the call
//     after the answer. Only list() has a deadline for each page instead: Pending::looked_at.
//  6. An ask repeated with the same claim id is the same ask: the answer says what became of it.
//  7. Once release(claim) is answered yes or gone, that claim neither holds nor waits. If the drop
//     was doubtful, a late ask with that id is answered `gone` until its ttl has passed.
//
// Threads: any thread may make any call, several at once. What a request points to (name, about,
// spans) stays alive until the answer.
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

// CLOCK_BOOTTIME: it runs on during suspend, and nobody can set it.
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
  ClaimId instead{};      // the asker's earlier claim, dropped (as doubtful) in the same step …
  Millis instead_ttl{0};  // … with this ttl; 0: drop none
  Kind kind{};
  std::uint32_t capacity = 1;
  std::uint32_t weight = 1;
  Millis ttl{};
  Millis lock_delay{};
  Purpose purpose{};       // correctness: a store that cannot give it refuses with unsupported
  bool queue = false;      // wait in line if it is not free; else try once
  bool fair = true;        // false: may be granted before the claims in line
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
  std::int64_t by = 0, least = 0, most = 0;  // outside [least, most]: no, and nothing changes
  Millis expiry{0};                          // 0: never; restarts at each change …
  bool window = false;  // … or counts from the cell's first change: a fixed window
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
  queued,   // waits in line
  no,       // the store definitely wrote nothing; problem says why (busy: somebody holds it)
  gone,     // definitely not (or no longer) there, or revoked
  unknown,  // the store may have applied it
};
struct Problem {
  Errc errc{};
  std::string reason;  // a stable word
  std::string text;    // one line, no secrets
};
struct Answer {
  Said said{};
  std::uint64_t number = 0;   // yes to an ask: 53 bits, from which the token is made
  Millis ttl{};               // yes: as granted. queued: ask again by then; 0: unknown
  std::int64_t store_us = 0;  // the store's clock at this answer; 0: it has none, or did nothing
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
// Never on a caller's stack, because the caller may give up before the answer comes.
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
  // list() calls this with each page that is answered: about how many keys it has looked at so far.
  // The result is the deadline of the next page, so a listing may last as long as the store
  // answers. Called before done(), from any thread, possibly with a mutex held.
  virtual BootTime looked_at(std::uint64_t keys) noexcept {
    static_cast<void>(keys);
    return deadline;
  }

 protected:
  ~Pending() = default;
};

// ── the interface ────────────────────────────────────────────────────────────────────────────────
// An admission queue per name: a claim is granted when it and the granted claims fit the capacity.
struct Claims {
  virtual void ask(const Ask& ask, Pending<Answer>& call) noexcept = 0;
  // One answer per request, in the same order. No answers: out of memory, and nothing was done.
  virtual void renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept = 0;
  virtual void release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept = 0;
  // The holders and waiters of one name. One request, however much else the store keeps.
  virtual void describe(std::string_view name, Pending<Listing>& call) noexcept = 0;
  // The same for every name with this prefix. Reads all keys there, page after page.
  virtual void list(std::string_view prefix, Pending<Listing>& call) noexcept = 0;
  // Tells the holders, by gone() or in answer to a renewal. now: drops their claims in this step.
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

// What a store pushes to the library. Called from any thread inside help(), or, if the store is
// immediate, inside the call of another client; with no mutex held.
struct Hints {
  // Another's release granted a waiting claim; the answer says yes and carries store_us.
  virtual void granted(std::string_view name, const ClaimId& claim,
                       const Answer& answer) noexcept = 0;
  // Something changed at this name, so its waiters ask again. No name: messages were missed, so the
  // waiters of all names do.
  virtual void look(std::string_view name) noexcept = 0;
  // A granted claim ended early.
  virtual void gone(std::string_view name, const ClaimId& claim) noexcept = 0;
  // Session stores: a request sent at `sent` proved that the session lives for `ttl` from then.
  virtual void alive(BootTime sent, Millis ttl) noexcept = 0;
  // Session stores: no request could prove it. Until one does, all leases are at risk.
  virtual void in_doubt() noexcept = 0;
  // The store works, but not as well as it should. Once per problem; the user gets a warning.
  virtual void warn(const Problem& problem) noexcept = 0;

 protected:
  ~Hints() = default;
};

enum class Validity : std::uint8_t {
  claim,       // each claim has a ttl of its own and is renewed
  session,     // all claims live and die with the session: see alive() and gone()
  connection,  // the same, with one connection as the session
};

// Stores declare here how they differ. A test is skipped by a trait, never by a store's name.
struct Traits {
  std::string_view scheme;
  Validity validity = Validity::claim;
  bool mutex = true;
  bool rw = true;
  bool semaphore = true;
  bool tokens = true;        // mints numbers: clause 4
  bool bare_tokens = false;  // a dialect: the token is the peer's own number, with no turn in it
  bool queues = true;        // keeps a line; otherwise it answers an ask yes or no
  bool notifies = true;      // sends granted() or look(); otherwise waiters ask again and again
  bool immediate = false;    // answers before the call returns, so nobody needs to help
  bool ordered = false;      // as a rule, executes one process's calls for a name in their order
  bool durable = false;      // grants and numbers survive a restart of the store
  bool processes = true;     // several processes can share it
  bool forks = true;         // a forked child may open it again
  bool ends_with_process = false;  // a lease ends as soon as its process dies
  bool cells = false;
  bool expiring_cells = false;
  Millis ttl_min{500};
  Millis ttl_max{std::chrono::hours(24)};
  Millis granularity{1};         // the store may end a lease this much early
  Millis session{0};             // the session's length, as asked for: the ttl of all its leases
  std::uint32_t handovers = 64;  // in a row inside one process; 0: a dialect, or strict order
};

class Backend : public Claims {
 public:
  virtual ~Backend() = default;
  virtual const Traits& traits() const noexcept = 0;
  virtual Cells* cells() noexcept { return nullptr; }
  virtual void guarantees(Pending<Promise>& call) noexcept = 0;
  // as_new: refused (busy) while the store has locks or others are connected. A store that needs no
  // mark when it is new treats it like missing.
  virtual void init(Init what, Pending<Answer>& call) noexcept = 0;
  // What `show --verbose` prints; no secrets.
  virtual void inspect(Pending<Inspection>& call) noexcept { call.done({}); }

  // Called when nothing is held or owed: gives back what was kept for reuse, and waits for that no
  // longer than `until`. May be called again, and asks may follow.
  virtual void close(BootTime until) noexcept { static_cast<void>(until); }

  // Lends this thread to the store: it reads for all calls, does queued blocking work, and delivers
  // hints. Returns when `call` is finished, at `until`, or soon after the descriptor `wake` (unless
  // -1) became readable. With no call it stays for messages, and also returns after it delivered a
  // hint or an answer, because the thread may be waiting for that. Any number of threads may be in
  // here, with and without a call: the store thread, callers, and waiters that read the messages
  // themselves. Never called after the destructor began.
  virtual void help(const Call* call, BootTime until, int wake) noexcept = 0;

  // A descriptor that is readable when help(nullptr, now, -1) has something to do; -1: there is
  // none. For a store made of several, which would poll all of them at once; there is none yet.
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
  bool has_authority = false;  // the URL has a "//"
  std::vector<Host> hosts;
  std::string path;  // what follows the authority, with its "/"; without one, all after "scheme:"
  std::map<std::string, std::string, std::less<>> options;
};

inline constexpr std::uint32_t module_version = 3;

struct Opening {
  const Url& url;  // without the options that every store has; refuse unknown ones
  Hints& hints;    // lives as long as the backend
  // Opens another store, for a store made of several; nullptr and a problem if it cannot.
  std::unique_ptr<Backend> (*other)(const Url& url, Hints& hints, Problem& problem);
};
struct Module {
  std::uint32_t version = module_version;
  const char* schemes = "";  // separated by spaces
  // Does not connect; the first call does. nullptr and a problem if the URL makes no sense.
  std::unique_ptr<Backend> (*open)(const Opening& opening, Problem& problem) = nullptr;
};

}  // namespace holdfast

// The only symbol of libholdfast-NAME.so.0, which is loaded at the first use of its scheme.
extern "C" const holdfast::Module* holdfast_module();
