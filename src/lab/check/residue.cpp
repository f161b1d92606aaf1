// Residue: after calm, a claim leaves the store soon after nobody in its process wants the lock any
// more, and a dead process's claim when it expires. A dropped claim never comes back.
#include <set>
#include <utility>

#include "core/validity.hpp"
#include "lab/check/account.hpp"

namespace holdfast::lab {
namespace {

using Place = std::pair<std::uint16_t, std::int16_t>;  // name and process

using Spans = std::vector<Span>;  // in order, disjoint

// When somebody in each process wanted each lock.
std::map<Place, Spans> wanted_in(const Account& account) {
  std::map<Place, Spans> wanted;
  for (const Acquire& one : account.acquires()) {
    Spans& here = wanted[{one.name, one.process}];
    if (!here.empty() && one.asked <= here.back().end) {
      here.back().end = std::max(here.back().end, one.done());
    } else {
      here.push_back({one.asked, one.done()});
    }
  }
  return wanted;
}

// The longest span within [since, to) in which nobody wanted the lock.
Span unwanted(const Spans& spans, std::int64_t since, std::int64_t to) {
  Span longest{since, since};
  const auto consider = [&](std::int64_t until) {
    if (until - since > longest.end - longest.begin) longest = {since, until};
  };
  for (const Span& span : spans) {
    if (span.end <= since) continue;
    if (span.begin >= to) break;
    consider(span.begin);
    since = span.end;
    if (since >= to) return longest;
  }
  consider(to);
  return longest;
}

// A node that kept its memory must not have a claim again that the claim's own process dropped.
void check_returns(const Account& account, Violations& found) {
  std::set<std::pair<std::uint16_t, std::uint64_t>> dropped;
  const Event* drop = nullptr;  // the drop that a node is working on, if any
  for (const Event& event : account.events()) {
    const std::pair claim(event.name, event.claim);
    switch (event.what) {
      case What::arrived:
        if (!event.flag) drop = std::string_view(event.note) == "drop" ? &event : nullptr;
        break;
      case What::store_ended:
        if (drop && drop->at == event.at && std::pair(drop->name, drop->claim) == claim)
          dropped.insert(claim);
        break;
      case What::store_queued:
      case What::store_granted:
        if (!dropped.contains(claim)) break;
        found.push_back({Checker::residue,
                         lock(event.name) + ": a claim of process " +
                             std::to_string(event.process) + " came back after it was dropped",
                         event.at});
        break;
      case What::restart:
        if (event.node != nobody) dropped.clear();
        break;
      case What::forget:
      case What::jump:  // a mark may expire too early
      case What::failover: dropped.clear(); break;
      default: break;
    }
  }
}

}  // namespace

void check_residue(const Account& account, const Expectation& expected, Violations& found) {
  check_returns(account, found);
  if (account.calm() == not_yet) return;
  const std::int64_t soon =
      (core::answer_within(std::chrono::ceil<Millis>(expected.ttl)) + expected.grace).count();
  std::map<Place, Spans> wanted = wanted_in(account);
  for (const Claimed& claim : account.claims()) {
    const std::int64_t to = std::min(claim.ended(), account.end());
    if (to <= account.calm()) continue;
    const Span span =
        unwanted(wanted[{claim.name, claim.process}], std::max(claim.since(), account.calm()), to);
    // A dead process's claim may be granted just before its place in line expires, and then lasts
    // as long again.
    const std::int64_t bound =
        soon + (account.orphan(claim) ? core::with_drift(2 * expected.ttl).count() : 0);
    if (span.end - span.begin > bound)
      found.push_back({Checker::residue,
                       lock(claim.name) + ": a claim of process " + std::to_string(claim.process) +
                           " was " + (claim.granted <= span.begin ? "held" : "in line") + " for " +
                           ms(span.end - span.begin) + " after anybody there wanted it",
                       span.begin});
  }
}

}  // namespace holdfast::lab
