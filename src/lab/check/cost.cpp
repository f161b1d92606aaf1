// Cost: without faults, a handover takes a bounded number of requests, however many clients wait,
// and a lease takes a bounded number of renewals.
#include "lab/check/account.hpp"

namespace holdfast::lab {
namespace {

constexpr std::int64_t per_handover = 6;
constexpr std::size_t per_ttl = 4;

bool is_request(const Event& event, std::string_view what) {
  return event.what == What::arrived && !event.flag && event.note == what;
}

// A waiter asks again now and then, to heal a lost message: at most this often.
std::int64_t healing(const Claimed& claim, std::int64_t end, std::int64_t ttl) {
  if (claim.queued == not_yet || ttl == 0) return 0;
  const std::int64_t waited = std::min({claim.granted, claim.gone, end}) - claim.queued;
  return waited / (ttl / 8 * 3);
}

void check_requests(const Account& account, const Expectation& expected, Violations& found) {
  std::map<std::uint16_t, std::int64_t> budgets;
  std::map<std::uint16_t, std::int64_t> spent;
  for (const Event& event : account.events())
    spent[event.name] += is_request(event, "ask") || is_request(event, "drop") ? 1 : 0;
  for (const Acquire& one : account.acquires())
    if (!one.leased()) budgets[one.name] += 2;
  for (const Claimed& claim : account.claims())
    budgets[claim.name] += (claim.granted == not_yet ? 0 : per_handover) +
                           healing(claim, account.end(), expected.ttl.count());
  for (const auto& [name, requests] : spent)
    if (requests > budgets[name])
      found.push_back({Checker::cost,
                       lock(name) + ": " + std::to_string(requests) +
                           " requests; the handovers, refusals and waits of the run allow " +
                           std::to_string(budgets[name]),
                       account.end()});
}

void check_renewals(const Account& account, Violations& found) {
  std::map<std::pair<std::uint16_t, std::uint64_t>, std::int64_t> ttls;
  for (const Claimed& claim : account.claims()) ttls[{claim.name, claim.claim}] = claim.ttl;
  std::map<std::pair<std::uint16_t, std::uint64_t>, std::vector<std::int64_t>> renewals;
  for (const Event& event : account.events()) {
    if (!is_request(event, "renew")) continue;
    std::vector<std::int64_t>& seen = renewals[{event.name, event.claim}];
    seen.push_back(event.at);
    const std::int64_t ttl = ttls[{event.name, event.claim}];
    if (seen.size() <= per_ttl || event.at - seen[seen.size() - 1 - per_ttl] >= ttl) continue;
    found.push_back({Checker::cost,
                     lock(event.name) + ": process " + std::to_string(event.process) +
                         " renewed more than " + std::to_string(per_ttl) + " times in a ttl",
                     event.at});
    return;
  }
}

}  // namespace

void check_cost(const Account& account, const Expectation& expected, Violations& found) {
  if (expected.faults || !expected.notifies) return;
  check_requests(account, expected, found);
  check_renewals(account, found);
}

}  // namespace holdfast::lab
