#include "holdfast/lease.hpp"

#include "core/text.hpp"
#include "runtime/access.hpp"
#include "runtime/answered.hpp"
#include "runtime/shop.hpp"

namespace holdfast {
namespace {

using detail::Hold;
using detail::LiveGate;

LiveGate& gate_of(const Hold& hold) { return *static_cast<LiveGate*>(hold.home.get()); }
bool forked(const Hold& hold) { return hold.fork_epoch != detail::fork_epoch(); }

std::string where(const LiveGate& gate) {
  return core::escaped(gate.name(), 128) + " on " + core::shown(gate.shop().url);
}

}  // namespace

namespace detail {

// Releases a hold and reports the event.
Said give_back(Hold& hold, bool wait) noexcept {
  LiveGate& gate = gate_of(hold);
  if (hold.state.load() == Hold::State::released) return Said::yes;
  const Said said = gate.give_back(hold, wait);
  if (hold.state.load() == Hold::State::released)
    gate.shop().tell(Event::Kind::released, gate.name(), hold.token, hold.since, {});
  return said;
}

}  // namespace detail

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    Lease replaced(std::move(*this));
    hold_ = std::move(other.hold_);
  }
  return *this;
}

Lease::~Lease() {
  if (!hold_) return;
  if (forked(*hold_)) {
    new std::shared_ptr<Hold>(std::move(hold_));  // it is the parent's, so leak it on purpose
    return;
  }
  detail::give_back(*hold_, !hold_->awaited);
}

Token Lease::token() const noexcept { return hold_ ? hold_->token : Token{}; }

bool Lease::valid() const noexcept {
  if (!hold_ || forked(*hold_)) return false;
  const BootTime now = BootClock::now();
  const auto ahead = detail::wall_ahead();
  if (hold_->valid(now, ahead)) return true;
  if (hold_->doubted(ahead)) gate_of(*hold_).doubt(*hold_);
  return false;
}

Millis Lease::left() const noexcept {
  if (!valid()) return Millis(0);
  const auto left = hold_->counted_until() - BootClock::now();
  return std::max(std::chrono::duration_cast<Millis>(left), Millis(0));
}

std::stop_token Lease::lost() const {
  if (!hold_) return {};
  if (forked(*hold_)) {
    std::stop_source stopped;
    stopped.request_stop();
    return stopped.get_token();
  }
  return gate_of(*hold_).lost(*hold_);
}

Result<void> Lease::release() {
  if (!hold_) return {};
  if (forked(*hold_))
    return Error(Errc::invalid, "opened_before_fork", "a lease of the parent process");
  const Said said = detail::give_back(*hold_, !hold_->awaited);
  const LiveGate& gate = gate_of(*hold_);
  if (said == Said::gone) {
    return Error(Errc::lost, *hold_->why_lost ? hold_->why_lost : "gone",
                 where(gate) + ": the lease had ended before it was released");
  }
  if (said == Said::unknown && !hold_->awaited)
    return Error(
        Errc::unknown, "not_confirmed",
        where(gate) + ": the release is not confirmed yet; that goes on in the background");
  return {};
}

Result<void> RwLock::downgrade(Lease& writer) const {
  const auto& hold = detail::Access::hold(writer);
  if (!hold || forked(*hold))
    return Error(Errc::invalid, "not_held", "downgrade: this lease holds nothing");
  LiveGate& gate = gate_of(*hold);
  if (&gate != detail::Access::place(write_).gate.get())
    return Error(Errc::invalid, "other_lock",
                 "downgrade: the lease is of another lock than " + where(gate));
  return gate.downgrade(*hold);
}

}  // namespace holdfast
