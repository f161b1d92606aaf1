// lab/gate.hpp: the core's gate at work in a simulated process. It does what src/runtime/gate.cpp
// does, in events instead of threads.
#pragma once

#include <functional>
#include <vector>

#include "core/gate.hpp"
#include "lab/world.hpp"

namespace holdfast::lab {

class Caller;
class LabGate;
class Shop;

// A claim with the calls that carry it to the store and back.
struct LabClaim final : core::Claim, Pending<std::span<Answer>> {
  explicit LabClaim(LabGate& at) noexcept : gate(at) {}
  void begin(BootTime by) noexcept;                        // its release
  void done(std::span<Answer> answers) noexcept override;  // is answered
  LabGate& gate;
};

struct LabAttempt final : core::Attempt, Pending<Answer> {
  explicit LabAttempt(LabClaim& of) noexcept : claim(of) {}
  void begin(BootTime by) noexcept;
  void done(Answer answer) noexcept override;
  LabClaim& claim;
};

class LabGate final : public core::Gate {
 public:
  LabGate(Shop& shop, std::uint16_t number, const std::string& name, const core::Terms& terms);
  ~LabGate() override;

  Shop& shop() const noexcept { return shop_; }
  std::uint16_t number() const noexcept { return number_; }

  // The one pattern: event, collect, perform.
  template <class Event>
  void step(core::Collector collector, Event&& event);

  // A thread stands behind a call of this claim: `ended` is called when the call is.
  void stand_behind(core::Claim& claim, const void* who, Action ended);
  void stand_down(core::Claim& claim, const void* who);
  void ended(const core::Claim* claim);  // a call of it was answered; it may be gone

  void renewed(core::Claim& claim, const core::Sent& sent, const Answer& answer);
  Keep keep(core::Claim& claim, core::Sent& sent, BootTime& deadline);
  void visit();  // the hand's
  void clock_changed();

  std::vector<std::uint64_t> waiting;  // ops in line here, in order

 private:
  friend struct LabClaim;
  friend struct LabAttempt;
  struct Standing {
    core::Claim* claim;
    const void* who;
    Action ended;
  };

  core::Claim* make_claim() noexcept override;
  void end_claim(core::Claim* claim) noexcept override;
  bool perform(core::Orders& orders);
  void start(const core::Orders::Start& order);
  void arm();
  void due();

  Shop& shop_;
  const std::uint16_t number_;
  std::vector<std::unique_ptr<LabClaim>> claims_;
  std::vector<Standing> standing_;
  BootTime armed_ = core::never;
  std::uint64_t arming_ = 0;  // which timer counts
};

}  // namespace holdfast::lab
