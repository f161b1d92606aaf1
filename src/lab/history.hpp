// lab/history.hpp: what happened, in true time. Simulated runs write it, and so can real ones (all
// processes of one machine share CLOCK_BOOTTIME); the checkers and the pictures read it.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::lab {

// A process of a client is a number from 0 on; a node of a store is a number of its own from 0 on.
inline constexpr std::int16_t nobody = -1;

enum class What : std::uint8_t {
  // An acquire, from its call to its end; `op` names it.
  ask,  // called; weight and capacity; fair or not in `flag`; `token` of a re-entry is told later
  granted,  // it returned a lease: token, `until` (true time at which valid() ends unless renewed)
  refused,  // it returned without one: why, in `note`
  cancel,   // its caller gave up
  // The lease that `op` got.
  renewed,  // `until` moved
  lost,     // lost() fired: why, in `note`
  // valid() is asked of every lease at every step of the world, paused processes' too, until it is
  // lost or released; what is told is each change. A lease begins with valid() true.
  believes,
  doubts,
  release,   // called
  released,  // it returned: yes, gone or unknown, in `note`
  // The resource that the lock protects; `op` is the lease's.
  write,     // a request with `token` came to it …
  accepted,  // … and was accepted; `flag`: by the resource that checks tokens
  rejected,
  // The store, in the order of its commits; `op` of the acquire if it is known.
  store_queued,   // came into the line: claim, weight, capacity; fair or not in `flag`
  store_granted,  // token (number), weight, capacity, `until` in the store's view; `flag`: fair
  store_renewed,  // `until` in the store's view
  store_ended,    // released, expired, withdrawn, revoked or forgotten, in `note`
  // Faults: of a process, a node, or the way between them.
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
  calm,  // from here on there are no faults
  // What went over the wire: from process to node, or back (`flag`). A request that arrives says in
  // `note` what it is: ask, renew or drop, and of which claim.
  sent,
  arrived,
  vanished,
  left,  // when all was over, a process still had this to do: a call, a debt, a timer, in `note`
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
  std::uint64_t claim = 0;  // of the store's commits, and of the lease that `op` got
  std::uint64_t token = 0;
  std::int64_t until = 0;
  std::uint64_t owner = 0;  // who may enter again; 0: nobody
  const char* note = "";    // of static life, or kept by the history
};

class History {
 public:
  void add(const Event& event) { events_.push_back(event); }
  const std::vector<Event>& events() const noexcept { return events_; }
  std::uint64_t hash() const noexcept;  // of everything in it: the same seed, the same hash
  std::string text() const;             // one line an event
  std::string json_lines() const;       // as docs/lab.md describes
  const char* keep(std::string_view word);

 private:
  std::vector<Event> events_;
  std::shared_ptr<std::set<std::string, std::less<>>> words_;  // shared by copies, never taken out
};

// What json_lines() wrote, or a real run did; false: what is wrong, and in which line, in
// `problem`.
bool read_lines(std::string_view lines, History& history, std::string& problem);

}  // namespace holdfast::lab
