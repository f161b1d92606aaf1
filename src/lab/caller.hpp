// lab/caller.hpp: one acquire of a thread or of a coroutine, from its call to its return.
#pragma once

#include "core/waiter.hpp"
#include "lab/gate.hpp"

namespace holdfast::lab {

// Its timers keep it.
class Caller final : public core::Waiter, public std::enable_shared_from_this<Caller> {
 public:
  Caller(LabGate& gate, Action settled) : gate_(gate), settled_(std::move(settled)) {
    continuation = this;
  }
  ~Caller();

  void arrive();
  void cancel();
  void wake();  // its thread is unparked, or its coroutine is resumed
  std::uint64_t claim() const noexcept { return claim_; }  // behind its hold, as the history says

 private:
  void note_claim() noexcept;
  void turn();  // one turn of the loop in which a thread waits
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

// What a thread does that gives a lease back and waits for the answer.
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
