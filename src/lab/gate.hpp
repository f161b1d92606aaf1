// lab/gate.hpp: runs the core's gate in a simulated process. It does what src/runtime/gate.cpp
// does, with events instead of threads.
#pragma once

#include <functional>
#include <vector>

#include "core/gate.hpp"
#include "lab/world.hpp"

namespace holdfast::lab {

class Caller;
class LabGate;
class Shop;

// A claim, and its calls to the store.
struct LabClaim final : core::Claim, Pending<std::span<Answer>> {
  explicit LabClaim(LabGate& at) noexcept : gate(at) {}
  void begin(BootTime by) noexcept;                        // starts its release
  void done(std::span<Answer> answers) noexcept override;  // its release is answered
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

  // A thread helps a call of this claim; `ended` runs when that call is answered.
  void stand_behind(core::Claim& claim, const void* who, Action ended);
  void stand_down(core::Claim& claim, const void* who);
  void ended(const core::Claim* claim);  // one of its calls was answered; the claim may be gone

  void renewed(core::Claim& claim, const core::Sent& sent, const Answer& answer);
  Keep keep(core::Claim& claim, core::Sent& sent, BootTime& deadline);
  void visit();  // done by the store thread
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
  std::uint64_t arming_ = 0;  // the number of the only timer that counts
};

}  // namespace holdfast::lab
