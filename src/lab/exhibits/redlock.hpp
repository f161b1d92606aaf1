// lab/exhibits/redlock.hpp: Redlock as its description has it: N nodes that know nothing of each
// other, and a majority of them.
#pragma once

#include "lab/exhibits/keeper.hpp"
#include "lab/exhibits/ledger.hpp"

namespace holdfast::lab::exhibits {

struct Redlock {
  static constexpr Nanos ttl = 400ms;
  static constexpr Nanos drift = ttl / 100 + 2ms;  // how much the clocks may differ meanwhile

  std::vector<Node*> nodes;
  std::size_t quorum() const { return nodes.size() / 2 + 1; }
};

// Takes a majority, works, writes to the ledger if there is one, and lets go everywhere.
Script with_redlock(Actor& self, Redlock lock, Ledger* ledger, Nanos work);

}  // namespace holdfast::lab::exhibits
