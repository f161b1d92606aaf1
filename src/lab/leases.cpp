#include "lab/leases.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace holdfast::lab {
namespace {

constexpr Time for_ever{std::numeric_limits<std::int64_t>::max()};

Time true_end(const Machine& machine, BootTime counted) {
  return counted == core::never ? for_ever : machine.when(counted);
}

}  // namespace

std::uint64_t short_id(const ClaimId& claim) noexcept {
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < 8; ++i) id = id << 8 | claim[i];
  return id;
}

Event Op::event(What what, const char* note) const {
  Event event;
  event.what = what;
  event.process = process;
  event.name = name;
  event.weight = weight;
  event.capacity = capacity;
  event.op = number;
  event.owner = owner;
  event.note = note;
  return event;
}

Leases::Leases(World& world) : world_(world) {
  world_.before_telling = [this] { look(); };
}

Event Leases::event(const Lease& lease, What what) const {
  Event event = lease.op.event(what);
  event.at = world_.now().count();
  event.claim = lease.claim;
  event.token = lease.hold->token.value;
  event.until = lease.until.count();
  return event;
}

void Leases::begin(const Op& op, const Machine& machine, std::shared_ptr<core::Hold> hold,
                   std::uint64_t claim) {
  const BootTime counted = hold->counted_until();
  Lease lease{op,   &machine, std::move(hold), claim,
              true, false,    counted,         true_end(machine, counted)};
  world_.tell(event(lease, What::granted));
  leases_.push_back(std::move(lease));
  look();
}

void Leases::look() {
  for (Lease& lease : leases_) {
    const BootTime counted = lease.hold->counted_until();
    const bool valid = lease.hold->valid(lease.machine->boot(), lease.machine->wall_ahead());
    if (counted != lease.counted && counted > lease.machine->boot() &&
        lease.hold->state.load() == core::Hold::State::held) {
      lease.counted = counted;
      lease.until = true_end(*lease.machine, counted);
      world_.history.add(event(lease, What::renewed));
    }
    if (valid == lease.valid) continue;
    lease.valid = valid;
    world_.history.add(event(lease, valid ? What::believes : What::doubts));
  }
}

void Leases::lost(const core::Hold& hold) {
  const auto at = std::ranges::find_if(
      leases_, [&](const Lease& lease) { return lease.hold.get() == &hold && !lease.lost; });
  if (at == leases_.end()) return;
  Event told = event(*at, What::lost);
  told.note = hold.why_lost;
  at->lost = true;
  at->valid = false;
  world_.tell(told);
}

void Leases::end(std::uint64_t op) {
  std::erase_if(leases_, [&](const Lease& lease) { return lease.op.number == op; });
}

void Leases::end_all(std::int16_t process) {
  std::erase_if(leases_, [&](const Lease& lease) { return lease.op.process == process; });
}

}  // namespace holdfast::lab
