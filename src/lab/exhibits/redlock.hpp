// lab/exhibits/redlock.hpp: Redlock as its description has it: a majority of N independent nodes.
#pragma once

#include "lab/exhibits/keeper.hpp"
#include "lab/exhibits/ledger.hpp"

namespace holdfast::lab::exhibits {

struct Redlock {
  static constexpr Nanos ttl = 400ms;
  static constexpr Nanos drift = ttl / 100 + 2ms;  // how far the clocks may drift apart meanwhile

  std::vector<Node*> nodes;
  std::size_t quorum() const { return nodes.size() / 2 + 1; }
};

// Takes a majority, works, writes to the ledger if there is one, and releases at all nodes.
Script with_redlock(Actor& self, Redlock lock, Ledger* ledger, Nanos work);

}  // namespace holdfast::lab::exhibits
