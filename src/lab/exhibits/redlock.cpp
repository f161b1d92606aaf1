#include "lab/exhibits/redlock.hpp"

#include <algorithm>

#include "lab/exhibits/commands.hpp"

namespace holdfast::lab::exhibits {
namespace {

// Waits only briefly, so that a node that is down costs little of the lock's validity.
Request briefly(Request request) {
  request.wait = 50ms;
  return request;
}

}  // namespace

Script with_redlock(Actor& self, Redlock lock, Ledger* ledger, Nanos work) {
  self.asks();
  while (true) {
    // 1. Read its own clock. 2. Ask all nodes at once, and do not wait long for any.
    const BootTime began = self.machine.boot();
    const auto votes = co_await Round(self, lock.nodes, briefly(redis::set(self, Redlock::ttl)));
    // 3. It has the lock if a majority said yes and some validity is left.
    const auto granted = static_cast<std::size_t>(
        std::ranges::count_if(votes, [](const Answer& vote) { return vote.yes; }));
    // 4. The validity is how long it holds the lock.
    const Nanos validity = Redlock::ttl - (self.machine.boot() - began) - Redlock::drift;
    if (granted >= lock.quorum() && validity > 0ms) break;
    // 5. Else release at all nodes, even those that did not answer, and try again later.
    co_await Round(self, lock.nodes, briefly(redis::del_if_own(self)));
    co_await self.sleep(Nanos(60ms) + self.number * 35ms);
  }
  std::uint64_t token = 0;
  if (ledger && ledger->fence() == Fence::on)
    token = (co_await Question(self, *ledger, ledger->draw())).number;
  self.enters(token);
  co_await self.sleep(work);
  if (ledger) {
    const Answer written = co_await Question(self, *ledger, ledger->write(self, token));
    if (!written.yes) self.loses("its token is too old");
  }
  self.leaves();
  co_await Round(self, lock.nodes, briefly(redis::del_if_own(self)));
}

}  // namespace holdfast::lab::exhibits
