// holdfast/lock.hpp: Lock, and the two types made of Locks: RwLock and Semaphore.
//
//   auto lock = store.lock("orders/42");              // a cheap value; nothing happens yet
//   auto lease = lock.try_acquire_for(5s);            // Result<Lease>
//   std::scoped_lock guard(lock);                     // it is a standard TimedLockable
//   auto later = co_await lock.acquire_async(stop);   // no thread waits
//
// A lock taken by acquire… belongs to the Lease, which may go to any thread; only the same
// LockOptions::owner re-enters. A lock taken by the standard-shaped calls belongs to the calling
// thread, and only that thread re-enters. A reader that re-enters to write is refused (invalid),
// because it would wait for itself.
//
// Threads: a Lock may be copied and shared freely.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "holdfast/lease.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

namespace detail {
struct Place;

// Storage for a waiter in line, so that waiting allocates nothing else.
struct alignas(16) WaiterRoom {
  std::byte bytes[192];
};
struct Leave {
  WaiterRoom* room;
  void operator()() const noexcept;
};

// Converts from the caller's units. Neither end overflows.
template <class R, class P>
Millis at_most(std::chrono::duration<R, P> duration) {
  using Wide = std::chrono::duration<double, std::milli>;
  if (Wide(duration) <= Wide::zero()) return Millis(0);
  if (Wide(duration) >= Wide(std::chrono::hours(24) * 365 * 100)) return forever;
  return std::chrono::ceil<Millis>(duration);
}
template <class C, class D>
Millis until(std::chrono::time_point<C, D> deadline) {
  const auto now = C::now();
  return deadline <= now ? Millis(0) : at_most(deadline - now);
}
}  // namespace detail

// co_await gives Result<Lease>. To end the wait, use the stop token; never destroy the suspended
// coroutine, because the line still points into it.
class [[nodiscard]] Acquiring {
 public:
  Acquiring(const Acquiring&) = delete;
  Acquiring& operator=(const Acquiring&) = delete;
  ~Acquiring();
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle);
  Result<Lease> await_resume();

 private:
  friend class Lock;
  Acquiring(std::shared_ptr<detail::Place> place, std::stop_token stop);
  std::shared_ptr<detail::Place> place_;
  std::stop_token stop_;
  std::optional<std::stop_callback<detail::Leave>> leave_;
  detail::WaiterRoom room_;
};

class Lock {
 public:
  Result<Lease> acquire(std::stop_token stop = {}) const;  // waits as long as LockOptions::wait
  Result<Lease> try_acquire() const;                       // one ask, no place in line
  Result<Lease> try_acquire_for(Millis at_most, std::stop_token stop = {}) const;
  template <class C, class D>
  Result<Lease> try_acquire_until(std::chrono::time_point<C, D> deadline,
                                  std::stop_token stop = {}) const {
    return try_acquire_for(detail::until(deadline), std::move(stop));
  }
  Acquiring acquire_async(std::stop_token stop = {}) const;

  void lock() const;      // throws Error
  bool try_lock() const;  // false: busy; throws Error in trouble
  template <class R, class P>
  bool try_lock_for(std::chrono::duration<R, P> duration) const {
    return lock_within(detail::at_most(duration));
  }
  template <class C, class D>
  bool try_lock_until(std::chrono::time_point<C, D> deadline) const {
    return lock_within(detail::until(deadline));
  }
  // Reports a loss by events and stats only, because ~scoped_lock must not throw.
  void unlock() const noexcept;
  Millis ttl() const noexcept;  // of its leases: as asked for, or the length of the store's session

 private:
  friend struct detail::Access;
  explicit Lock(std::shared_ptr<detail::Place> place) noexcept : place_(std::move(place)) {}
  bool lock_within(Millis at_most) const;
  std::shared_ptr<detail::Place> place_;  // the name, its options, and what is wrong with them
};

// Many readers or one writer; readers cannot starve a writer. Also a standard SharedTimedLockable.
class RwLock {
 public:
  Lock read() const { return read_; }
  Lock write() const { return write_; }

  // Turns a write lease into a read lease; nobody gets in between. The token stays the same.
  Result<void> downgrade(Lease& writer) const;

  void lock() const { write_.lock(); }
  bool try_lock() const { return write_.try_lock(); }
  template <class Duration>
  bool try_lock_for(const Duration& duration) const {
    return write_.try_lock_for(duration);
  }
  template <class Time>
  bool try_lock_until(const Time& deadline) const {
    return write_.try_lock_until(deadline);
  }
  void unlock() const noexcept { write_.unlock(); }

  void lock_shared() const { read_.lock(); }
  bool try_lock_shared() const { return read_.try_lock(); }
  template <class Duration>
  bool try_lock_shared_for(const Duration& duration) const {
    return read_.try_lock_for(duration);
  }
  template <class Time>
  bool try_lock_shared_until(const Time& deadline) const {
    return read_.try_lock_until(deadline);
  }
  void unlock_shared() const noexcept { read_.unlock(); }

 private:
  friend class Store;
  RwLock(Lock read, Lock write) : read_(std::move(read)), write_(std::move(write)) {}
  Lock read_;
  Lock write_;
};

// At most `permits` are held at a time, over all processes.
class Semaphore {
 public:
  Lock permits(std::uint32_t weight = 1) const { return permits_(weight); }

 private:
  friend class Store;
  explicit Semaphore(std::function<Lock(std::uint32_t)> permits) : permits_(std::move(permits)) {}
  std::function<Lock(std::uint32_t)> permits_;
};

// Several at once, all or none; in one global order of names, so that two callers cannot deadlock.
Result<std::vector<Lease>> acquire_all(std::span<const Lock> locks, std::stop_token stop = {});

}  // namespace holdfast
