// holdfast/store.hpp: where locks live.
//
//   auto store = holdfast::open("sqlite:/var/lib/app/locks.db").value();
//   auto done = store.with_lock("report/daily", {.wait = 5s}, [](const holdfast::Lease&) {
//   report(); }); auto sell = holdfast::locked(store, "stock/{}", sell_one);   // sell(42) holds
//   "stock/42"
//
// URL          what                                              carries
// memory:      this process alone; memory:NAME for separate ones all kinds, tokens
// sqlite:FILE  one machine, any number of processes              all kinds, tokens, correctness
//
// Options of every URL: prefix=TEXT (put before each name), handover=off (strict order: nothing is
// passed on inside the process), handover=N (at most N in a row, 1 to 1000; default 64).
//
// Threads: a Store may be copied and shared freely. After fork the child owns nothing: its calls
// answer `invalid`, valid() is false, destructors do nothing.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/lock.hpp"
#include "holdfast/pattern.hpp"

namespace holdfast {

struct Module;
namespace detail {
struct Shop;
}

template <class R>
concept Awaitable = requires(R r) {
  r.await_ready();
}
|| requires(R r) { r.operator co_await(); };
template <class F>
using Body = std::invoke_result_t<F, const Lease&>;

class Store {
 public:
  // A store of one's own: see backend.hpp. Throws Error if the URL cannot be opened.
  Store(const Module& module, std::string_view url, const StoreOptions& options = StoreOptions());

  Lock lock(LockName name, const LockOptions& options = LockOptions()) const;
  RwLock rw_lock(LockName name, const LockOptions& options = LockOptions()) const;
  Semaphore semaphore(LockName name, std::uint32_t permits,
                      const LockOptions& options = LockOptions()) const;

  // Acquires, calls body(lease), releases. lost: the body ran, but its lease ended before it did.
  // Any other error: the body never ran. What the body throws passes through.
  template <class F>
  Result<Body<F>> with_lock(LockName name, const LockOptions& options, F&& body) const
      requires(!Awaitable<Body<F>>);

  // Who holds and who waits: of one name, by one request whatever else is there …
  Result<std::vector<Holder>> holders(LockName name) const;
  // … and of all that begin so. Reads every key of the store, for as long as each page is answered
  // in time. Tells this thread now and then how many keys it looked at; false ends it (cancelled).
  using Progress = std::function<bool(std::uint64_t keys)>;
  Result<std::vector<Holder>> list(std::string_view prefix = {},
                                   const Progress& progress = {}) const;
  Result<Guarantees> guarantees() const;
  Result<std::vector<Fact>> inspect() const;  // its state, for people
  Stats stats() const;
  std::string url() const;  // as opened, without secrets
  // A lease ends at once when its process has died, and not only by its ttl. Work that outlives its
  // process for a moment needs a lock_delay there.
  bool ends_with_process() const noexcept;

  // Tells the holders to let go; `now` takes it from them in this step.
  Result<void> revoke(LockName name, bool now = false) const;

  // Creates what the store needs. Init::as_new is for a Redis server with guard=on that has never
  // had a lock: its first use need not wait for guard_ttl. Never for one that has forgotten locks,
  // because somebody may still hold them. busy: it has locks, or others are connected. Processes
  // that are not connected cannot be seen.
  Result<void> init(Init what = Init::missing) const;

  // No new grants; all leases are lost and released; waits for what is not yet confirmed.
  Result<void> close(Millis at_most) const;

 private:
  friend Result<Store> open(std::string_view url, const StoreOptions& options);
  explicit Store(std::shared_ptr<detail::Shop> shop) noexcept : shop_(std::move(shop)) {}
  Result<Lease> enter(LockName name, const LockOptions& options) const;  // held by this thread
  std::shared_ptr<detail::Shop> shop_;
};

// Parses, and loads that store's library; the first use connects.
Result<Store> open(std::string_view url, const StoreOptions& options = StoreOptions());

template <class F>
Result<Body<F>> Store::with_lock(LockName name, const LockOptions& options, F&& body) const
    requires(!Awaitable<Body<F>>) {
  auto lease = enter(std::move(name), options);
  if (!lease) return lease.error();
  const Lease& held = *lease;
  // A release that the store did not confirm is no error here, for it is followed up.
  const auto ended_before = [&] {
    auto released = lease->release();
    return !released && released.error().errc() == Errc::lost ? std::optional(released.error())
                                                              : std::nullopt;
  };
  if constexpr (std::is_void_v<Body<F>>) {
    std::invoke(std::forward<F>(body), held);
    if (auto error = ended_before()) return *error;
    return {};
  } else {
    auto value = std::invoke(std::forward<F>(body), held);
    if (auto error = ended_before()) return *error;
    return value;
  }
}

// A function that takes its own lock, named by its arguments: each "{}" takes the next one, an
// integer or a text. The result is Result<what f returns>.
template <class F>
auto locked(Store store, NamePattern pattern, F f, LockOptions options = LockOptions()) {
  return [store = std::move(store), pattern, f = std::move(f), options,
          label = std::string(options.label)]<class... Args>(
             Args&&... args) -> Result<std::invoke_result_t<const F&, Args...>> {
    LockOptions wanted = options;
    wanted.label = label;
    if (pattern.holes() > sizeof...(Args))
      return Error(Errc::invalid, "pattern",
                   "a locked function got fewer arguments than its name has {}");
    return store.with_lock(pattern.fill(args...), wanted, [&](const Lease&) {
      return std::invoke(f, std::forward<Args>(args)...);
    });
  };
}

}  // namespace holdfast
