// Fairness: the store grants claims in the order of its line, and a process whose turn it is serves
// its own waiters in their order, a bounded number of times and for a bounded time.
#include "core/validity.hpp"
#include "lab/check/account.hpp"

namespace holdfast::lab {
namespace {

void check_line(const Account& account, Violations& found) {
  std::map<std::uint16_t, std::vector<std::uint64_t>> lines;
  for (const Event& event : account.events()) {
    const bool grant = event.what == What::store_granted;
    if (!grant && event.what != What::store_queued && event.what != What::store_ended) continue;
    std::vector<std::uint64_t>& line = lines[event.name];
    if (grant && event.flag && !line.empty() && line.front() != event.claim)
      found.push_back({Checker::fairness,
                       lock(event.name) + ": the claim of process " +
                           std::to_string(event.process) +
                           " was granted before another that was in line before it",
                       event.at});
    std::erase(line, event.claim);
    if (event.what == What::store_queued) line.push_back(event.claim);
  }
}

// Checks the leases that follow each other on one claim.
void check_handovers(const Account& account, const Expectation& expected, Violations& found) {
  struct Turns {
    const Acquire* first = nullptr;
    const Acquire* last = nullptr;
    std::uint32_t count = 0;
  };
  std::map<std::pair<std::uint16_t, std::uint64_t>, Turns> claims;
  std::vector<const Acquire*> leases;
  for (const Acquire& one : account.acquires())
    if (one.leased() && one.exclusive() && one.claim) leases.push_back(&one);
  std::ranges::stable_sort(leases, {}, [](const Acquire* one) { return one->granted; });
  const std::int64_t limit = core::with_drift(core::handover_time).count();
  for (const Acquire* lease : leases) {
    Turns& turns = claims[{lease->name, lease->claim}];
    if (!turns.first) turns.first = lease;
    const Acquire* before = std::exchange(turns.last, lease);
    if (!before || before->token == lease->token) continue;
    const bool often = ++turns.count > expected.handovers;
    const bool late = before->release - turns.first->granted > limit;
    if (often || late)
      found.push_back({Checker::fairness,
                       lock(lease->name) + ": process " + std::to_string(lease->process) +
                           " served itself " + std::to_string(turns.count) + " times in a row, " +
                           ms(before->release - turns.first->granted) + " after its grant",
                       lease->granted});
  }
}

// Inside a process, the exclusive acquire that asked first has the smaller token. Re-entries do not
// count.
void check_own_line(const Account& account, Violations& found) {
  std::map<std::pair<std::uint16_t, std::int16_t>, const Acquire*> latest;
  for (const Acquire& one : account.acquires()) {
    if (!one.leased() || !one.exclusive()) continue;
    const Acquire*& before = latest[{one.name, one.process}];
    const bool again = one.owner && before && one.token <= before->token;
    if (before && !again && one.token < before->token)
      found.push_back({Checker::fairness,
                       lock(one.name) + ": " + who(one) + " was served before " + who(*before) +
                           ", which had asked before it",
                       one.granted});
    if (!again) before = &one;
  }
}

}  // namespace

void check_fairness(const Account& account, const Expectation& expected, Violations& found) {
  if (expected.fifo) check_line(account, found);
  check_handovers(account, expected, found);
  if (expected.tokens) check_own_line(account, found);
}

}  // namespace holdfast::lab
