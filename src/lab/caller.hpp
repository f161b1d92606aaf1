// lab/caller.hpp: one acquire by a thread or a coroutine, from its call to its return.
#pragma once

#include "core/waiter.hpp"
#include "lab/gate.hpp"

namespace holdfast::lab {

// Its timers keep it alive.
class Caller final : public core::Waiter, public std::enable_shared_from_this<Caller> {
 public:
  Caller(LabGate& gate, Action settled) : gate_(gate), settled_(std::move(settled)) {
    continuation = this;
  }
  ~Caller();

  void arrive();
  void cancel();
  void wake();  // its thread is unparked, or its coroutine is resumed
  std::uint64_t claim() const noexcept { return claim_; }  // behind its hold, in the history

 private:
  void note_claim() noexcept;
  void turn();  // one turn of a thread's wait loop
  void turn_at(BootTime when);
  void turn_soon();
  void finish();

  LabGate& gate_;
  Action settled_;  // called once, when it has its outcome
  core::Claim* helped_ = nullptr;
  std::uint64_t claim_ = 0;
  std::uint64_t turns_ = 0;
  bool finished_ = false;
};

// A thread that releases a lease and waits for the answer.
class Returning : public std::enable_shared_from_this<Returning> {
 public:
  Returning(LabGate& gate, core::Claim& claim, std::function<void(Said)> confirmed);
  void begin();

 private:
  void look();

  LabGate& gate_;
  core::Claim& claim_;
  std::function<void(Said)> confirmed_;
  BootTime until_;
  bool again_ = false;
  bool over_ = false;
};

}  // namespace holdfast::lab
