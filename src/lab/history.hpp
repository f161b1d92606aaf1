// lab/history.hpp: what happened, in true time. Simulated runs write it, and real runs can, because
// all processes of one machine share CLOCK_BOOTTIME. The checkers and the pictures read it.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::lab {

// Client processes are numbered from 0, and so are, separately, the nodes of a store.
inline constexpr std::int16_t nobody = -1;

enum class What : std::uint8_t {
  // An acquire, from its call to its end; `op` names it.
  ask,      // called: weight and capacity; `flag`: fair
  granted,  // it returned a lease: token, `until` (true time when valid() ends unless renewed)
  refused,  // it returned without one: why, in `note`
  cancel,   // its caller gave up
  // The lease that `op` got.
  renewed,  // `until` moved
  lost,     // lost() fired: why, in `note`
  // The world calls valid() of every lease before every event, even in paused processes, until the
  // lease is lost or released, and records each change. A lease begins with valid() true.
  believes,
  doubts,
  release,   // called
  released,  // it returned: yes, gone or unknown, in `note`
  // The resource that the lock protects; `op` is the lease's.
  write,     // a request with `token` reached it …
  accepted,  // … and was accepted; `flag`: by the resource that checks tokens
  rejected,
  // The store, in the order of its commits; `op` is the acquire's, if known.
  store_queued,   // joined the line: claim, weight, capacity; `flag`: fair
  store_granted,  // token (number), weight, capacity, `until` in the store's view; `flag`: fair
  store_renewed,  // `until` in the store's view
  store_ended,    // released, expired, withdrawn, revoked or forgotten, in `note`
  // Faults: of a process, a node, or the link between them.
  pause,
  resume,
  crash,
  restart,
  cut,
  heal,
  forget,
  failover,
  jump,
  drift,
  calm,  // there are no faults after this
  // Messages from process to node, or back (`flag`). When a request arrives, `note` says what it is
  // (ask, renew, check or drop), and `claim` whose.
  sent,
  arrived,
  vanished,
  left,  // at the end a process still had work, named in `note`: a call, a debt, a timer
  note,  // a line for the reader
};
std::string_view to_string(What what) noexcept;

struct Event {
  std::int64_t at = 0;  // nanoseconds of true time
  What what{};
  bool flag = false;
  std::int16_t process = nobody;
  std::int16_t node = nobody;
  std::uint16_t name = 0;  // which lock
  std::uint32_t weight = 1, capacity = 1;
  std::uint64_t op = 0;
  std::uint64_t claim = 0;  // in the store's commits, and for the lease that `op` got
  std::uint64_t token = 0;
  std::int64_t until = 0;
  std::uint64_t owner = 0;  // who may re-enter; 0: nobody
  const char* note = "";    // a literal, or kept by the history
};

class History {
 public:
  void add(const Event& event) { events_.push_back(event); }
  const std::vector<Event>& events() const noexcept { return events_; }
  std::uint64_t hash() const noexcept;  // over everything in it: the same seed gives the same hash
  std::string text() const;             // one line per event
  std::string json_lines() const;       // as docs/lab.md describes
  const char* keep(std::string_view word);

 private:
  std::vector<Event> events_;
  std::shared_ptr<std::set<std::string, std::less<>>> words_;  // shared by copies, never erased
};

// Reads what json_lines() or a real run wrote. False: `problem` says what is wrong, in which line.
bool read_lines(std::string_view lines, History& history, std::string& problem);

}  // namespace holdfast::lab
