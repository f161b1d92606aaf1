// The other shapes of a lock: declarative, a function that locks itself, standard guards, several
// at once, readers and writers, permits, coroutines.
#include <holdfast/holdfast.hpp>

#include <array>
#include <future>
#include <iostream>
#include <mutex>
#include <shared_mutex>

using namespace std::chrono_literals;

// [coroutine]
struct Task {  // any coroutine type will do
  struct promise_type {
    std::promise<holdfast::Token> done;
    Task get_return_object() { return {done.get_future()}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_value(holdfast::Token token) { done.set_value(token); }
    void unhandled_exception() { done.set_exception(std::current_exception()); }
  };
  std::future<holdfast::Token> result;
};

Task wait_without_a_thread(holdfast::Lock lock) {
  auto lease = co_await lock.acquire_async();
  co_return lease.value().token();
}
// [coroutine]

int main() {
  auto store = holdfast::open("memory:").value();

  // [shapes]
  // Declarative. lost: the body ran, but its lease ended before it did.
  auto report = store.with_lock("report/daily", {.ttl = 30s, .wait = 5s},
                                [](const holdfast::Lease& lease) { return lease.token(); });

  // A function that takes its own lock, named by its argument.
  auto sell = holdfast::locked(store, "stock/{}", [](int item) { return item * 2; });
  const int sold = sell(21).value();

  // It is a standard TimedLockable and, for readers and writers, a SharedTimedLockable.
  auto lock = store.lock("catalogue/1");
  { std::unique_lock guard(lock, 5s); }
  auto catalogue = store.rw_lock("catalogue/2");
  { std::shared_lock guard(catalogue); }

  // Several: one global order, all or none.
  auto both = holdfast::acquire_all(std::array{lock, store.lock("catalogue/3")});

  // At most five at a time; this one takes two of them.
  auto permits = store.semaphore("converters", 5).permits(2).acquire();
  // [shapes]

  const auto token = wait_without_a_thread(store.lock("later")).result.get();
  const bool fine = report && sold == 42 && both && permits && token.value > 0;
  std::cout << (fine ? "all shapes work\n" : "something is wrong\n");
  return fine ? 0 : 1;
}
