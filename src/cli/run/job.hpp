// What the two processes of `holdfast run` share.
//
// The supervisor is the process that the user started: it passes signals on and manages the
// terminal. The guard, its child under another name, holds the lease and is the parent of the
// command. Each watches the other, so that the command is stopped in time whichever of them is
// killed or paused:
//
//   what happens                        who stops the command
//   the lease is lost                   the guard: SIGTERM at V_end − (k + g), SIGKILL at V_end − g
//   the supervisor is killed            the guard: the line between them is cut
//   the supervisor is paused            the guard: its pulse is older than ttl·0.99 − k − g
//   the guard is killed                 the kernel (PDEATHSIG); the supervisor kills its group
//   the guard is paused                 the supervisor: SIGKILL at V_end − g
//   all are paused                      whichever runs first: SIGKILL
//
// V_end is the end of the lease on our clock, k the grace between the two signals, and g the
// margin. The lease's lost() and left() count to V_end − g, which is called `until` here.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/location.hpp"
#include "cli/options.hpp"
#include "cli/run/chain.hpp"

namespace holdfast::cli {

// How long an ending run waits for the store to confirm its releases.
inline constexpr Millis clear_up_within{1000};

struct Timing {
  explicit Timing(Millis given) noexcept;
  Millis ttl;
  Millis margin;         // g
  std::int64_t grace;    // k; nanoseconds from here on
  std::int64_t beat;     // how often each process shows that it is alive
  std::int64_t silence;  // a supervisor silent for this long counts as paused
};

// One page that both processes share.
struct Pulse {
  std::atomic<std::int64_t> supervisor_at{0};  // when the supervisor last ran
  std::atomic<std::int64_t> until{0};          // SIGKILL then, unless renewed; 0: nothing held
  std::atomic<pid_t> group{0};                 // the command's process group; 0: not started
  std::atomic<std::int64_t> beat{0};  // the supervisor runs at least this often; 0: not yet known
  std::atomic<bool> loss_told{false};
};

// Sent over the line between the two.
struct Message {
  enum class Kind : std::int32_t {
    signal,   // to the guard: pass `number` on to the command
    stopped,  // to the supervisor: the command was stopped by signal `number`
  };
  Kind kind;
  std::int32_t number;
};
void send(int line, Message message) noexcept;

struct Job {
  const Options& options;
  Location location;
  Chain chain;
  std::string program;       // the command's file …
  std::span<char*> command;  // … and its arguments, followed by a null pointer
  Timing timing;  // from the requested ttl; in the guard, from the ttl that the store gives
  Pulse& pulse;
  std::vector<int> inherited;  // descriptors from the user, for the command
  sigset_t user_signals;       // the signal mask from the user
  bool children_ignored;       // SIGCHLD was ignored when we were started
  pid_t supervisor_group;
};

// Writes one line to --status-fd, if given.
void tell(const Job& job, const std::string& line);
void tell_acquired(const Job& job, Token token);
void tell_loss(const Job& job, const std::string& why);  // also on stderr; only once

int supervise(Job& job, std::span<char*> all_arguments);
int guard(Job& job, int line);

}  // namespace holdfast::cli
