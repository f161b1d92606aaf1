#include "holdfast/lock.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"
#include "runtime/access.hpp"

namespace holdfast {

using detail::Access;
using detail::AsyncWaiter;
using detail::LiveGate;
using detail::Place;

namespace {

BootTime deadline_after(Millis span) {
  constexpr Millis longest = std::chrono::hours(24) * 365 * 100;
  return span >= longest ? core::never : BootClock::now() + span;
}

void prepare(core::Waiter& waiter, const Place& place, Millis at_most, core::Entrant owner) {
  waiter.wish = place.wish;
  waiter.owner = owner;
  waiter.queue = at_most > Millis(0);
  waiter.deadline = waiter.queue ? deadline_after(at_most) : core::never;
}

// What became of a settled waiter.
Result<Lease> outcome(core::Waiter& waiter, const Place& place) {
  detail::Shop& shop = *place.shop;
  if (waiter.hold) {
    waiter.hold->home = place.gate;
    waiter.hold->fork_epoch = shop.epoch;
    waiter.hold->awaited = !waiter.thread;
    const auto kind = waiter.handed_over ? Event::Kind::handed_over : Event::Kind::acquired;
    shop.tell(kind, place.gate->name(), waiter.hold->token, waiter.arrived, {});
    return Access::lease(std::move(waiter.hold));
  }
  if (waiter.errc == Errc::busy) ++shop.counts.busy;
  if (waiter.errc == Errc::cancelled) ++shop.counts.cancelled;
  if (waiter.errc == Errc::unavailable) ++shop.counts.unavailable;
  return shop.error(place.gate->name(), waiter.errc, waiter.failure.get());
}

}  // namespace

Result<Lease> detail::acquire(const Place& place, Millis at_most, core::Entrant owner,
                              std::stop_token stop) {
  if (place.verdict) return *place.verdict;
  if (auto error = place.shop->ready()) return *error;
  LiveGate& gate = *place.gate;
  core::Waiter waiter;
  prepare(waiter, place, at_most, owner);
  waiter.continuation = &Parker::mine();
  {
    const auto leave = [&] { gate.cancel(waiter); };
    std::optional<std::stop_callback<decltype(leave)>> callback;
    if (stop.stop_possible()) callback.emplace(std::move(stop), leave);
    gate.wait(waiter);
  }
  return outcome(waiter, place);
}

// ── handles ─────────────────────────────────────────────────────────────────────────────────────

Result<Lease> Lock::try_acquire_for(Millis at_most, std::stop_token stop) const {
  return detail::acquire(*place_, at_most, place_->owner, std::move(stop));
}

Result<Lease> Lock::acquire(std::stop_token stop) const {
  return try_acquire_for(place_->wait, std::move(stop));
}
Result<Lease> Lock::try_acquire() const { return try_acquire_for(Millis(0)); }
Millis Lock::ttl() const noexcept { return place_->wish ? place_->wish->ttl : Millis(0); }
Acquiring Lock::acquire_async(std::stop_token stop) const { return {place_, std::move(stop)}; }

// ── coroutines ──────────────────────────────────────────────────────────────────────────────────

Acquiring::Acquiring(std::shared_ptr<Place> place, std::stop_token stop)
    : place_(std::move(place)), stop_(std::move(stop)) {
  new (room_.bytes) AsyncWaiter;
}

Acquiring::~Acquiring() {
  leave_.reset();
  AsyncWaiter& waiter = AsyncWaiter::in(room_);
  if (waiter.hold) (void)outcome(waiter, *place_);  // granted, but the coroutine never resumed
  std::destroy_at(&waiter);
}

bool Acquiring::await_suspend(std::coroutine_handle<> handle) {
  if (place_->verdict || place_->shop->ready()) return false;  // await_resume returns the error
  AsyncWaiter& waiter = AsyncWaiter::in(room_);
  prepare(waiter, *place_, place_->wait, place_->owner);
  waiter.thread = false;
  waiter.continuation = &waiter;
  waiter.handle = handle;
  waiter.gate = place_->gate.get();
  if (stop_.stop_possible()) leave_.emplace(stop_, detail::Leave{&room_});
  // From here on the coroutine may resume on another thread and destroy this object.
  const std::shared_ptr<LiveGate> gate = place_->gate;
  return !gate->arrive_async(waiter);
}

void detail::Leave::operator()() const noexcept {
  AsyncWaiter& waiter = AsyncWaiter::in(*room);
  waiter.gate->cancel(waiter);
}

Result<Lease> Acquiring::await_resume() {
  leave_.reset();
  AsyncWaiter& waiter = AsyncWaiter::in(room_);
  if (waiter.state == core::Waiter::State::fresh) {
    if (place_->verdict) return *place_->verdict;
    if (auto error = place_->shop->ready()) return *error;
    return Error(Errc::unavailable, "resource",
                 "the threads that keep a lease could not be made; try again");
  }
  return outcome(waiter, *place_);
}

// ── as a standard lock ──────────────────────────────────────────────────────────────────────────

void Lock::lock() const {
  auto lease = detail::acquire(*place_, place_->wait, detail::this_thread(), {}).value();
  place_->gate->keep_for_thread(std::move(lease));
}

bool Lock::lock_within(Millis at_most) const {
  auto lease = detail::acquire(*place_, at_most, detail::this_thread(), {});
  if (!lease && lease.error().errc() == Errc::busy) return false;
  Lease held = std::move(lease).value();  // throws first, because a bad name or option has no gate
  place_->gate->keep_for_thread(std::move(held));
  return true;
}

bool Lock::try_lock() const { return lock_within(Millis(0)); }

void Lock::unlock() const noexcept {
  if (!place_->gate || place_->shop->epoch != detail::fork_epoch()) return;
  if (const auto hold = place_->gate->take_from_thread()) {
    detail::give_back(*hold, true);
  } else {
    place_->shop->tell(Event::Kind::not_held, place_->gate->name(), {}, core::never, "not_held");
  }
}

// ── several ─────────────────────────────────────────────────────────────────────────────────────

Result<std::vector<Lease>> acquire_all(std::span<const Lock> locks, std::stop_token stop) {
  std::vector<std::size_t> order(locks.size());
  std::vector<std::pair<std::string, std::string>> keys(locks.size());
  for (std::size_t i = 0; i < locks.size(); ++i) {
    const Place& place = Access::place(locks[i]);
    if (place.verdict) return *place.verdict;
    order[i] = i;
    keys[i] = {core::shown(place.shop->url), place.gate->name()};
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  const auto same = [&](std::size_t a, std::size_t b) { return keys[a] == keys[b]; };
  if (const auto twice = std::adjacent_find(order.begin(), order.end(), same); twice != order.end())
    return Error(
        Errc::invalid, "twice",
        core::escaped(keys[*twice].second, 128) + ": named twice; it would wait for itself");

  std::vector<std::optional<Lease>> got(locks.size());
  for (const std::size_t i : order) {
    auto lease = locks[i].acquire(stop);
    if (!lease) return lease.error();  // ~Lease gives the others back
    got[i].emplace(std::move(*lease));
  }
  std::vector<Lease> leases;
  leases.reserve(got.size());
  for (auto& lease : got) leases.push_back(std::move(*lease));
  return leases;
}

}  // namespace holdfast
