// holdfast/store.hpp: where locks live.
//
//   auto store = holdfast::open("sqlite:/var/lib/app/locks.db").value();
//   auto done = store.with_lock("report/daily", {.wait = 5s},
//                               [](const holdfast::Lease&) { report(); });
//   auto sell = holdfast::locked(store, "stock/{}", sell_one);  // sell(42) holds "stock/42"
//
//   URL                             shared by                     good for
//   memory: memory:NAME             one process                   correctness, in it; tests
//   sqlite:FILE                     the processes of one machine  correctness, on one machine
//   redis:// rediss:// redis+unix:  every client of the server    efficiency; correctness without
//     redis+sentinel://                                           replicas, with AOF always or
//     redis+cluster://                                            guard=on
//   zookeeper://h1,h2,h3/chroot     every client of the servers   correctness
//   etcd:// etcds://                every client of the servers   correctness
//
// docs/stores/ has a page on each; guarantees() says what a store promises in its configuration.
//
// Options of every URL: prefix=TEXT (put before each name), handover=off (strict order: no lock is
// passed on inside the process), handover=N (at most N in a row, 1 to 1000; default 64).
//
// Threads: a Store may be copied and shared freely. After fork the child owns nothing: its calls
// answer `invalid`, valid() is false, destructors do nothing. It may open its own stores
// (etcd: only if the parent has not used etcd).
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
  // For a store of your own: see backend.hpp. Throws Error if it cannot open the URL.
  Store(const Module& module, std::string_view url, const StoreOptions& options = StoreOptions());

  Lock lock(LockName name, const LockOptions& options = LockOptions()) const;
  RwLock rw_lock(LockName name, const LockOptions& options = LockOptions()) const;
  Semaphore semaphore(LockName name, std::uint32_t permits,
                      const LockOptions& options = LockOptions()) const;

  // Acquires, calls body(lease), releases. lost: the body ran, but its lease ended before it did;
  // or the body never ran, because the place in line was deleted (reason() "entry_deleted") or the
  // lease that this thread would re-enter was lost ("lost"). Any other error: the body never ran.
  // Exceptions of the body pass through.
  template <class F>
  Result<Body<F>> with_lock(LockName name, const LockOptions& options, F&& body) const
      requires(!Awaitable<Body<F>>);

  // The holders and waiters of one name. One request, however much else the store keeps.
  Result<std::vector<Holder>> holders(LockName name) const;
  // The same for every name with this prefix. Reads every key of the store, as long as each page
  // comes in time. Calls progress now and then, on this thread, with the number of keys it has
  // looked at; false ends the listing (cancelled).
  using Progress = std::function<bool(std::uint64_t keys)>;
  Result<std::vector<Holder>> list(std::string_view prefix = {},
                                   const Progress& progress = {}) const;
  Result<Guarantees> guarantees() const;
  Result<std::vector<Fact>> inspect() const;  // its state, for people
  Stats stats() const;
  std::string url() const;  // as opened, without secrets
  // True: a lease ends as soon as its process dies, not only after its ttl. Work that outlives its
  // process for a moment needs a lock_delay there.
  bool ends_with_process() const noexcept;

  // Tells the holders to let go. `now` takes the lock from them at once, while they may still work.
  Result<void> revoke(LockName name, bool now = false) const;

  // Creates what the store needs. Init::as_new is for a Redis server with guard=on that has never
  // had a lock: its first use need not wait for guard_ttl. Never use it on a server that forgot its
  // locks, because somebody may still hold them. busy: it has locks, or others are connected; it
  // cannot see processes that are not connected.
  Result<void> init(Init what = Init::missing) const;

  // Grants nothing more, ends all leases as lost and releases them, and waits until the store has
  // confirmed that. unknown: it did not in time; the library keeps trying in the background.
  Result<void> close(Millis at_most) const;

 private:
  friend Result<Store> open(std::string_view url, const StoreOptions& options);
  explicit Store(std::shared_ptr<detail::Shop> shop) noexcept : shop_(std::move(shop)) {}
  Result<Lease> enter(LockName name, const LockOptions& options) const;  // held by this thread
  std::shared_ptr<detail::Shop> shop_;
};

// Parses the URL and loads its store's library. Does not connect; the first use does.
Result<Store> open(std::string_view url, const StoreOptions& options = StoreOptions());

template <class F>
Result<Body<F>> Store::with_lock(LockName name, const LockOptions& options, F&& body) const
    requires(!Awaitable<Body<F>>) {
  auto lease = enter(std::move(name), options);
  if (!lease) return lease.error();
  const Lease& held = *lease;
  // An unconfirmed release is no error here, because the library keeps trying.
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

// Wraps f in a function that takes its own lock. Each "{}" of the lock's name takes the next
// argument, an integer or a text. It returns a Result of what f returns.
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
