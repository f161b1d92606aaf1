#include "lab/shop.hpp"

#include <array>
#include <utility>

#include "lab/gate_step.hpp"
#include "lab/stores/store.hpp"

namespace holdfast::lab {

using std::chrono::microseconds;

// Many renewals in one call.
struct Shop::Round final : Pending<std::span<Answer>> {
  void done(std::span<Answer> answers) noexcept override {
    for (std::size_t i = 0; i < claims.size(); ++i)
      claims[i]->gate.renewed(*claims[i], sent[i], answers[i]);
    finished_.store(true, std::memory_order_release);
  }
  std::vector<LabClaim*> claims;
  std::vector<Keep> keeps;
  std::vector<core::Sent> sent;
};

Shop::Shop(Scene& scene, Process& process)
    : scene_(scene), process_(process), chance_(scene.world.chance.fork()) {
  terms_.traits = scene.store->traits();
  terms_.traits.handovers = scene.plan.handovers;
  terms_.patience = Millis(30'000);
  terms_.next_delay = decorrelated_jitter(Millis(5), Millis(250));
  terms_.about = "a process";
  if (terms_.session()) terms_.session_end.store(0);
  backend_ = scene.store->connect(process, *this);
  for (std::size_t i = 0; i < scene.names.size(); ++i)
    gates_.push_back(
        std::make_unique<LabGate>(*this, static_cast<std::uint16_t>(i), scene.names[i], terms_));
}

Shop::~Shop() = default;

void Shop::open() {
  for (unsigned i = 0; i < scene_.plan.clients; ++i) {
    // Unique among all clients of this life and of earlier ones.
    const auto process = static_cast<std::uint64_t>(process_.number());
    const std::uint64_t number = (process_.life() * 100 + process + 1) * 100 + i + 1;
    clients_.push_back(std::make_unique<Client>(*this, number));
    clients_.back()->begin();
  }
}

void Shop::later(Action action) {
  process_.after(chance_.between(microseconds(1), microseconds(60)), std::move(action));
}

void Shop::arm() {
  for (const auto& gate : gates_) gate->clock_changed();
}

bool Shop::idle() const noexcept {
  for (const auto& gate : gates_)
    if (!gate->idle()) return false;
  return true;
}

// ── renewals ────────────────────────────────────────────────────────────────────────────────────

void Shop::renew(LabClaim& claim) {
  if (renewals_.empty()) later([this] { start_round(); });
  renewals_.push_back(&claim);
}

void Shop::start_round() {
  std::erase_if(rounds_, [](const auto& round) { return round->finished(); });
  Round& round = *rounds_.emplace_back(std::make_unique<Round>());
  round.claims = std::exchange(renewals_, {});
  round.deadline = BootTime::min();
  for (LabClaim* claim : round.claims)
    round.keeps.push_back(claim->gate.keep(*claim, round.sent.emplace_back(), round.deadline));
  backend_->renew(round.keeps, round);
}

// ── hints ───────────────────────────────────────────────────────────────────────────────────────

void Shop::granted(std::string_view name, const ClaimId& claim, const Answer& answer) noexcept {
  LabGate& at = gate(scene_.lock_named(name));
  at.step({}, [&](const auto& moment, auto& orders) {
    at.Gate::granted(claim, answer, moment, orders);
  });
}

void Shop::look(std::string_view name) noexcept {
  for (const auto& at : gates_) {
    if (!name.empty() && at->name() != name) continue;
    at->step({}, [&](const auto& moment, auto& orders) { at->look(moment, orders); });
  }
}

void Shop::gone(std::string_view name, const ClaimId& claim) noexcept {
  LabGate& at = gate(scene_.lock_named(name));
  at.step({}, [&](const auto& moment, auto& orders) { at.gone(claim, moment, orders); });
}

void Shop::alive(BootTime sent, Millis ttl) noexcept {
  terms_.prove_until(core::end_of(sent, ttl, terms_.traits.granularity));
}

}  // namespace holdfast::lab
