// One order is charged by one worker at a time, on whichever machine it runs.
// [readme]
#include <holdfast/holdfast.hpp>
#include <iostream>

using namespace std::chrono_literals;

int main() {
  auto store = holdfast::open("sqlite:locks.db").value();  // connects at first use
  auto lock = store.lock("orders/42", {.ttl = 10s});       // a cheap value; nothing happens yet

  if (auto lease = lock.try_acquire_for(5s)) {
    // The ledger refuses tokens older than the newest it saw; lost() fires before another gets in.
    std::cout << "charging with token " << lease->token().value << '\n';
  } else {
    std::cerr << lease.error().what() << '\n';  // busy, or in trouble: errc() says which
    return 1;
  }  // ~Lease releases
}
// [readme]
