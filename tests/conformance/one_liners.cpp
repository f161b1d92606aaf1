// Every one-line wait of a coroutine, as users write it, because compilers have bugs in temporaries
// of co_await expressions. A separate program, because ./dev twin builds and runs it with Clang
// too. Exits with 0 if each got its lease.
#include <holdfast/holdfast.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "support/detached.hpp"

namespace {

using namespace std::chrono_literals;
using holdfast::support::Detached;

std::atomic<int> granted{0};
std::atomic<bool> over{false};

void count(const holdfast::Result<holdfast::Lease>& lease) {
  if (lease)
    ++granted;
  else
    std::fprintf(stderr, "%s\n", lease.error().what());
}

constexpr int tries = 20;

Detached use(holdfast::Store store, std::stop_token stop) {
  count(co_await store.lock("orders/42").acquire_async());
  count(co_await store.lock("orders/42").acquire_async(stop));
  count(co_await store.lock("orders/42", {}).acquire_async());
  count(co_await store.lock("orders/42", {.ttl = 10s}).acquire_async());
  count(co_await store.lock("orders/42", {.ttl = 10s, .label = "night"}).acquire_async());
  count(co_await store.lock("orders/42", {.label = std::string(500, 'x')}).acquire_async());
  count(co_await store.lock("orders/42", {.owner = holdfast::Owner::fresh()}).acquire_async());
  count(co_await store.lock(std::string("orders/") + std::to_string(42)).acquire_async());
  count(co_await store.rw_lock("catalogue").read().acquire_async());
  count(co_await store.rw_lock("catalogue").write().acquire_async());
  count(co_await store.rw_lock("catalogue", {.wait = 5s}).read().acquire_async());
  count(co_await store.rw_lock("catalogue", {.label = "reader"}).read().acquire_async());
  count(co_await store.rw_lock("catalogue", {.label = "writer"}).write().acquire_async(stop));
  count(co_await store.semaphore("permits", 5).permits().acquire_async());
  count(co_await store.semaphore("permits", 5).permits(2).acquire_async());
  count(co_await store.semaphore("permits", 5, {.ttl = 10s}).permits(2).acquire_async());
  count(co_await store.semaphore("permits", 5, {.label = "two"}).permits(2).acquire_async());
  if (auto lease = co_await store.lock("orders/42").acquire_async()) ++granted;
  auto lease = co_await store.lock("orders/43", {.ttl = 10s}).acquire_async();
  count(lease);
  count(co_await holdfast::open("memory:").value().lock("orders/44").acquire_async());
  over = true;
}

}  // namespace

int main() {
  std::stop_source stop;
  use(holdfast::open("memory:").value(), stop.get_token());
  while (!over) std::this_thread::sleep_for(1ms);
  return granted == tries ? 0 : 1;
}
