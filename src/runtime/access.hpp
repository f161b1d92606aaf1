// How the runtime gets at the private parts of the public values.
#pragma once

#include <memory>

#include "holdfast/lock.hpp"
#include "runtime/shop.hpp"

namespace holdfast::detail {

struct Access {
  static Lease lease(std::shared_ptr<Hold> hold) noexcept { return Lease(std::move(hold)); }
  static const std::shared_ptr<Hold>& hold(const Lease& lease) noexcept { return lease.hold_; }
  static void disarm(Lease& lease) noexcept { lease.hold_.reset(); }  // ~Lease then does nothing
  static Lock lock(std::shared_ptr<Place> place) noexcept { return Lock(std::move(place)); }
  static const Place& place(const Lock& lock) noexcept { return *lock.place_; }
};

// Releases a hold: yes, gone (it had ended before), or unknown (not confirmed yet).
Said give_back(Hold& hold, bool wait) noexcept;

// One acquire on this thread.
Result<Lease> acquire(const Place& place, Millis at_most, core::Entrant owner,
                      std::stop_token stop);

}  // namespace holdfast::detail
