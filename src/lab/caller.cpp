#include "lab/caller.hpp"

#include <utility>

#include "lab/gate_step.hpp"
#include "lab/leases.hpp"

namespace holdfast::lab {
namespace {

// The same values as in src/runtime/gate.cpp.
constexpr Millis slice{50};
constexpr Millis retry_pause{10};
constexpr Millis release_deadline{1000};

}  // namespace

Caller::~Caller() = default;

void Caller::arrive() {
  if (thread) {
    gate_.step({.self = this},
               [&](const auto& moment, auto& orders) { gate_.arrive(*this, moment, orders); });
    return turn();
  }
  bool settled = false;
  gate_.step({}, [&](const auto& moment, auto& orders) {
    gate_.arrive(*this, moment, orders);
    settled = gate_.take_settled(*this);
  });
  if (settled) finish();
}

void Caller::cancel() {
  gate_.step({}, [&](const auto& moment, auto& orders) {
    gate_.leave(*this, Errc::cancelled, moment, orders);
  });
}

// Noted when the claim is granted, because it may be gone again when its caller runs.
void Caller::note_claim() noexcept {
  if (hold && hold->claim && claim_ == 0) claim_ = short_id(hold->claim->id);
}

void Caller::wake() {
  note_claim();
  if (!thread) return gate_.shop().later([self = shared_from_this()] { self->finish(); });
  if (!helped_) turn_soon();  // else its helping ends by itself
}

void Caller::turn_soon() {
  gate_.shop().later([self = shared_from_this(), which = ++turns_] {
    if (which == self->turns_) self->turn();
  });
}

void Caller::turn_at(BootTime when) {
  if (when == core::never) return;
  gate_.shop().process().at_boot(when, [self = shared_from_this(), which = ++turns_] {
    if (which == self->turns_) self->turn();
  });
}

void Caller::turn() {
  if (helped_) gate_.stand_down(*std::exchange(helped_, nullptr), this);
  if (delivered) return finish();
  const BootTime now = gate_.shop().process().boot();
  gate_.step({.self = this}, [&](const auto& moment, auto& orders) {
    if (now >= deadline) gate_.leave(*this, Errc::busy, moment, orders);
    helped_ = gate_.to_help(*this);
    if (helped_) gate_.attend(*helped_);
  });
  if (helped_) {
    gate_.stand_behind(*helped_, this, [self = shared_from_this()] { self->turn_soon(); });
    return turn_at(std::min(deadline, now + slice));
  }
  if (delivered) return finish();
  turn_at(deadline);
}

void Caller::finish() {
  if (std::exchange(finished_, true)) return;
  note_claim();
  const auto self = shared_from_this();  // settled_() may release the last other reference
  ++turns_;
  settled_();
}

// ── releases ────────────────────────────────────────────────────────────────────────────────────

Returning::Returning(LabGate& gate, core::Claim& claim, std::function<void(Said)> confirmed)
    : gate_(gate),
      claim_(claim),
      confirmed_(std::move(confirmed)),
      until_(gate.shop().process().boot() + release_deadline) {}

void Returning::begin() {
  const auto look = [self = shared_from_this()] { self->look(); };
  gate_.stand_behind(claim_, this, look);
  gate_.shop().process().at_boot(until_, look);
}

// Like LiveGate::confirm.
void Returning::look() {
  if (over_) return;
  const bool late = gate_.shop().process().boot() >= until_;
  const Said said = claim_.dropping ? Said::unknown : claim_.drop_said;
  const bool answered = !claim_.dropping && (said == Said::yes || said == Said::gone);
  if (answered || late) {
    over_ = true;
    gate_.stand_down(claim_, this);
    return confirmed_(answered ? (again_ ? Said::yes : said) : Said::unknown);
  }
  if (claim_.dropping) return;
  again_ = true;
  gate_.shop().process().after(retry_pause, [self = shared_from_this()] {
    if (self->over_) return;
    self->gate_.step({}, [&](const auto&, auto&) { self->gate_.drop_again(self->claim_); });
  });
}

}  // namespace holdfast::lab
