// The signal: a holder that loses its lease is told a margin before it ends at the store, unless
// its process was paused. A lost lease stays lost. Without faults no lease is lost.
#include "lab/check/account.hpp"

namespace holdfast::lab {
namespace {

constexpr std::int64_t slack = 1'000'000;  // a resumed process needs this to get to its timers

void check_in_time(const Acquire& lease, const Account& account, const Expectation& expected,
                   Violations& found) {
  const Claimed* claim = account.behind(lease);
  if (!claim) return;
  // A claim of a session has no expiry of its own.
  const bool session = claim->until == not_yet && claim->why_gone == "expired";
  const std::int64_t end = session ? claim->gone : claim->until;
  const std::int64_t due =
      account.runs_again(lease.process, std::max(end - expected.margin.count(), lease.granted));
  if (due >= account.end() - slack || lease.over() <= due + slack) return;
  const std::string late = lease.lost == not_yet ? "never" : ms(lease.lost - due) + " too late";
  found.push_back(
      {Checker::lost, lock(lease.name) + ": " + who(lease) + " was told of its loss " + late, due});
}

bool by_design(std::string_view why) { return why == "hold_at_most" || why == "closed"; }

void check_stays_lost(const Account& account, Violations& found) {
  for (const Event& event : account.events()) {
    if (event.what != What::renewed && event.what != What::believes) continue;
    const Acquire* lease = account.acquire(event.op);
    if (lease && lease->lost < event.at)
      found.push_back({Checker::lost,
                       lock(lease->name) + ": " + who(*lease) + " counts again after it was lost",
                       event.at});
  }
}

}  // namespace

void check_lost(const Account& account, const Expectation& expected, Violations& found) {
  for (const Acquire& lease : account.acquires()) {
    if (!lease.leased()) continue;
    check_in_time(lease, account, expected, found);
    if (!expected.faults && lease.lost != not_yet && !by_design(lease.why_lost))
      found.push_back({Checker::lost,
                       lock(lease.name) + ": " + who(lease) + " was lost without a reason (" +
                           std::string(lease.why_lost) + ")",
                       lease.lost});
  }
  check_stays_lost(account, found);
}

}  // namespace holdfast::lab
