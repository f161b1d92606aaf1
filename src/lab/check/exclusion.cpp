// Exclusion: leases, each from its grant to its release, loss or end, never weigh more than fits.
// Nor do the claims that a node has granted, whatever became of their owners.
#include "lab/check/sweep.hpp"

namespace holdfast::lab {
namespace {

void check_store(const Account& account, Violations& found) {
  struct Granted {
    std::int16_t node;
    std::uint64_t claim;
    std::uint32_t weight;
  };
  std::map<std::uint16_t, std::vector<Granted>> granted;
  for (const Event& event : account.events()) {
    if (event.what != What::store_ended && event.what != What::store_granted) continue;
    std::vector<Granted>& here = granted[event.name];
    // A new master may end a claim that the old one granted, so an end counts for all nodes.
    const bool ends = event.what == What::store_ended;
    std::erase_if(here, [&](const Granted& one) {
      return one.claim == event.claim && (ends || one.node == event.node);
    });
    if (ends) continue;
    here.push_back({event.node, event.claim, event.weight});
    std::uint64_t sum = 0;
    for (const Granted& one : here) sum += one.node == event.node ? one.weight : 0;
    if (sum > event.capacity)
      found.push_back({Checker::exclusion,
                       lock(event.name) + ": the store granted " + std::to_string(sum) + " of " +
                           std::to_string(event.capacity),
                       event.at});
  }
}

}  // namespace

void check_exclusion(const Account& account, const Expectation& expected, Violations& found) {
  check_store(account, found);
  if (!expected.exclusive) return;
  std::vector<Held> held;
  for (const Acquire& lease : account.acquires())
    if (lease.leased()) held.push_back({lease.granted, lease.ended(), &lease});
  for (const Crowd& crowd : crowds(std::move(held)))
    found.push_back({Checker::exclusion,
                     lock(crowd.newcomer->name) + ": " + who(*crowd.newcomer) +
                         " got it while that of " + who(*crowd.other) + " counted; " +
                         std::to_string(crowd.weight) + " of " +
                         std::to_string(crowd.newcomer->capacity) + " are held",
                     crowd.at});
}

}  // namespace holdfast::lab
