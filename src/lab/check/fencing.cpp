// Fencing: numbers grow in the order of the store's commits; a token has its claim's number, and no
// other lease has it; the resource that checks tokens refuses old ones, and only those.
#include "core/validity.hpp"
#include "lab/check/account.hpp"

namespace holdfast::lab {
namespace {

// Across all nodes, because a new master continues the old one's numbers.
void check_numbers(const Account& account, Violations& found) {
  std::map<std::uint16_t, std::uint64_t> newest;
  for (const Event& event : account.events()) {
    if (event.what != What::store_granted) continue;
    std::uint64_t& last = newest[event.name];
    if (event.token <= last)
      found.push_back({Checker::fencing,
                       lock(event.name) + ": the store granted number " +
                           std::to_string(event.token) + " after " + std::to_string(last),
                       event.at});
    last = std::max(last, event.token);
  }
}

bool one_owner(const Acquire& a, const Acquire& b) { return a.owner && a.owner == b.owner; }

// Says why `lease` must not have its token, given the first lease with the same token and the lease
// before it on its claim; either may be null.
std::string wrong(const Acquire& lease, const Acquire* same, const Acquire* before) {
  if (same && !(same->process == lease.process && same->claim == lease.claim &&
                (one_owner(*same, lease) || (!same->exclusive() && !lease.exclusive()))))
    return " has the token of " + who(*same);
  if (!before) return {};
  if (lease.token < before->token) return " came after " + who(*before);
  if (one_owner(*before, lease) && lease.granted < before->over() && lease.token != before->token)
    return " entered again and did not get the token of " + who(*before);
  return {};
}

void check_tokens(const Account& account, Violations& found) {
  std::vector<const Acquire*> leases;
  for (const Acquire& acquire : account.acquires())
    if (acquire.leased()) leases.push_back(&acquire);
  std::ranges::stable_sort(leases, {}, [](const Acquire* lease) { return lease->granted; });
  using Key = std::pair<std::uint16_t, std::uint64_t>;
  std::map<Key, const Acquire*> by_token;
  std::map<Key, const Acquire*> by_claim;
  for (const Acquire* lease : leases) {
    const auto report = [&](const std::string& text) {
      found.push_back(
          {Checker::fencing, lock(lease->name) + ": " + who(*lease) + text, lease->granted});
    };
    const Acquire*& same = by_token[{lease->name, lease->token}];
    const Acquire*& before = by_claim[{lease->name, lease->claim}];
    if (const std::string text = wrong(*lease, same, before); !text.empty()) report(text);
    if (!same) same = lease;
    before = lease;
    const Claimed* claim = account.behind(*lease);
    if (claim && claim->number != lease->token && claim->number != lease->token / core::turns)
      report(" does not have the number " + std::to_string(claim->number) + " of its grant");
  }
}

// Checks the resource that checks tokens (`fenced`), or the one that does not.
void check_writes(const Account& account, bool fenced, Violations& found) {
  std::map<std::uint16_t, std::uint64_t> newest;
  for (const Event& event : account.events()) {
    const bool accepted = event.what == What::accepted;
    if ((!accepted && event.what != What::rejected) || event.flag != fenced) continue;
    std::uint64_t& last = newest[event.name];
    if (accepted == (event.token >= last)) {
      last = std::max(last, event.token);
      continue;
    }
    found.push_back({Checker::fencing,
                     "the resource of " + lock(event.name) + " " +
                         (accepted ? "accepted" : "refused") + " token " +
                         std::to_string(event.token) + " after " + std::to_string(last),
                     event.at});
  }
}

}  // namespace

void check_fencing(const Account& account, const Expectation& expected, Violations& found) {
  if (!expected.tokens) return;
  check_numbers(account, found);
  check_tokens(account, found);
  check_writes(account, true, found);
  if (expected.unfenced) check_writes(account, false, found);
}

}  // namespace holdfast::lab
