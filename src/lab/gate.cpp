#include "lab/gate.hpp"

#include <algorithm>
#include <utility>

#include "lab/caller.hpp"
#include "lab/gate_step.hpp"

namespace holdfast::lab {

// ── calls ───────────────────────────────────────────────────────────────────────────────────────

void LabAttempt::begin(BootTime by) noexcept {
  deadline = by;
  finished_.store(false, std::memory_order_relaxed);
}

// A grant ends the attempt, and this object with it.
void LabAttempt::done(Answer answer) noexcept {
  LabClaim& asked = claim;
  LabGate& gate = asked.gate;
  gate.step({}, [&](const core::Moment& moment, core::Orders& orders) {
    finished_.store(true, std::memory_order_release);
    gate.answered(asked, answer, moment, orders);
  });
  gate.ended(&asked);
}

void LabClaim::begin(BootTime by) noexcept {
  deadline = by;
  finished_.store(false, std::memory_order_relaxed);
}

void LabClaim::done(std::span<Answer> answers) noexcept {
  LabGate& home = gate;  // this claim may end in the step
  home.step({}, [&](const core::Moment& moment, core::Orders& orders) {
    finished_.store(true, std::memory_order_release);
    home.dropped(*this, answers[0], moment, orders);
  });
  home.ended(this);
}

LabGate::LabGate(Shop& shop, std::uint16_t number, const std::string& name,
                 const core::Terms& terms)
    : Gate(name, terms), shop_(shop), number_(number) {}
LabGate::~LabGate() = default;

core::Claim* LabGate::make_claim() noexcept {
  auto& claim = claims_.emplace_back(std::make_unique<LabClaim>(*this));
  claim->attempt = std::make_unique<LabAttempt>(*claim);
  return claim.get();
}

void LabGate::end_claim(core::Claim* claim) noexcept {
  std::erase_if(claims_, [&](const auto& one) { return one.get() == claim; });
}

// Returns true if there may be more to do.
bool LabGate::perform(core::Orders& orders) {
  for (std::size_t i = 0; i < orders.starts; ++i) start(orders.start[i]);
  for (std::size_t i = 0; i < orders.wakes; ++i)
    static_cast<Caller*>(orders.wake[i].continuation)->wake();
  for (std::size_t i = 0; i < orders.losses; ++i)
    shop_.later([this, hold = std::move(orders.loss[i])] { shop_.scene().leases.lost(*hold); });
  if (orders.hand) shop_.later([this] { visit(); });
  return orders.starts > 0;
}

void LabGate::start(const core::Orders::Start& order) {
  auto& claim = static_cast<LabClaim&>(*order.claim);
  switch (order.what) {
    case core::Claim::Order::none: break;
    case core::Claim::Order::ask: {
      auto& attempt = static_cast<LabAttempt&>(*claim.attempt);
      attempt.begin(claim.answer_by);
      shop_.backend().ask(attempt.ask, attempt);
      break;
    }
    case core::Claim::Order::renew: shop_.renew(claim); break;
    case core::Claim::Order::drop:
      claim.begin(claim.answer_by);
      shop_.backend().release({&claim.drop, 1}, claim);
      break;
  }
}

// ── threads that help calls ─────────────────────────────────────────────────────────────────────

void LabGate::stand_behind(core::Claim& claim, const void* who, Action ended) {
  standing_.push_back({&claim, who, std::move(ended)});
}

void LabGate::stand_down(core::Claim& claim, const void* who) {
  std::erase_if(standing_,
                [&](const Standing& one) { return one.claim == &claim && one.who == who; });
  step({}, [&](const auto&, auto&) { unattend(claim); });
}

void LabGate::ended(const core::Claim* claim) {
  for (const Standing& one : standing_)
    if (one.claim == claim) shop_.later(one.ended);
}

// Does what Hand does for a gate that called it.
void LabGate::visit() {
  step({}, [](const auto&, auto&) {});
  while (core::Claim* claim = unattended()) {
    attend(*claim);
    stand_behind(*claim, this, [this, claim] { stand_down(*claim, this); });
  }
}

void LabGate::renewed(core::Claim& claim, const core::Sent& sent, const Answer& answer) {
  step({}, [&](const auto& moment, auto& orders) {
    Gate::renewed(claim, sent, answer, moment, orders);
  });
}

Keep LabGate::keep(core::Claim& claim, core::Sent& sent, BootTime& deadline) {
  step({}, [&](const core::Moment& moment, auto&) {
    deadline = std::max(deadline, renewal_deadline(claim, moment));
    sent = renewal_sent(claim, moment);
  });
  return {name(), claim.id, claim.weight, claim.wish->ttl};
}

// ── time ────────────────────────────────────────────────────────────────────────────────────────

void LabGate::arm() {
  const BootTime next = next_tick();
  if (next == core::never || (armed_ <= next && armed_ > shop_.process().boot())) return;
  armed_ = next;
  shop_.process().at_boot(next, [this, which = ++arming_] {
    if (which == arming_) due();
  });
}

void LabGate::clock_changed() {
  armed_ = core::never;
  arm();
}

// The timer thread calls no store; the store thread does that a moment later.
void LabGate::due() {
  armed_ = core::never;
  step({.starts = false}, [this](const auto& moment, auto& orders) { tick(moment, orders); });
  shop_.later([this] { visit(); });
}

}  // namespace holdfast::lab
