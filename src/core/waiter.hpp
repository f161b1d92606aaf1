// A waiter is a continuation: a parked thread or a suspended coroutine. The node lies on that
// thread's stack or in that coroutine's awaiter. The gate writes the outcome once, under its mutex.
#pragma once

#include <memory>
#include <optional>

#include "core/hold.hpp"

namespace holdfast::core {

struct OfLine;

struct Failure {
  Problem problem;
  std::shared_ptr<const Holder> holder;
};

// Why a waiter is refused. Owns no memory.
struct Cause {
  Errc errc;
  std::string_view reason;
  std::string_view text{};
};
inline Cause cause_of(const Problem& problem) noexcept {
  return {problem.errc, problem.reason, problem.text};
}

struct Waiter : Link<OfLine> {
  enum class State : std::uint8_t { fresh, in_line, settled };

  std::shared_ptr<const Wish> wish;
  Entrant owner;
  void* continuation = nullptr;  // what to wake; `thread` says whether a thread or a coroutine
  bool thread = true;
  bool queue = true;  // false: one ask, no place in line
  BootTime arrived;
  BootTime deadline = never;

  State state = State::fresh;
  bool handed_over = false;          // granted inside the process
  bool left = false;                 // cancelled before it got in line
  std::shared_ptr<Hold> hold;        // granted …
  Errc errc{};                       // … or not,
  std::unique_ptr<Failure> failure;  // with the details, unless memory was short

  std::atomic<bool> delivered{false};  // the gate will not touch this node again

  // A thread watches its own deadline; the timer thread watches a coroutine's.
  BootTime watched_deadline() const noexcept { return thread ? never : deadline; }
};

struct Wakeup {
  void* continuation;
  bool thread;
};

}  // namespace holdfast::core
