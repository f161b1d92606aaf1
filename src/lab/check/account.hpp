// lab/check/account.hpp: a history sorted by subject: acquires and their leases, claims in a store,
// pauses and deaths. It is made once, and all checkers read it.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include "lab/check/check.hpp"

namespace holdfast::lab {

inline constexpr std::int64_t not_yet = std::numeric_limits<std::int64_t>::max();

// One acquire, and the lease that it got.
struct Acquire {
  std::int16_t process = nobody;
  std::uint16_t name = 0;
  std::uint32_t weight = 1, capacity = 1;
  std::uint64_t op = 0, claim = 0, token = 0, owner = 0;
  std::int64_t asked = not_yet, granted = not_yet, refused = not_yet;
  std::int64_t until = not_yet;  // as last recorded
  std::int64_t lost = not_yet, release = not_yet, released = not_yet;
  std::int64_t died = not_yet;  // its process died before it was done
  std::string_view why_lost{}, said{};

  bool leased() const noexcept { return granted != not_yet; }
  bool exclusive() const noexcept { return weight >= capacity; }
  // When the caller's work under the lease ended, or had to end.
  std::int64_t over() const noexcept { return std::min({lost, release, died}); }
  // When the lease stopped counting.
  std::int64_t ended() const noexcept { return std::min(over(), until); }
  // When its caller had got all answers.
  std::int64_t done() const noexcept { return std::min({refused, released, died}); }
  // All holds of one owner are one holder; without an owner each hold is its own.
  std::uint64_t holder() const noexcept { return owner ? owner : op; }
};

// One claim in a store; a new master continues the claims of the old one.
struct Claimed {
  std::int16_t process = nobody;
  std::uint16_t name = 0;
  std::uint64_t claim = 0, op = 0, number = 0;
  std::uint32_t weight = 1, capacity = 1;
  std::int64_t queued = not_yet, granted = not_yet, gone = not_yet;
  std::int64_t until = not_yet;  // of its place in line, its grant or its last renewal
  std::int64_t ttl = 0;
  std::string_view why_gone{};
  std::int16_t node = nobody;  // the one that granted it
  bool several = false;        // several nodes granted it, so none decides alone
  bool cut_short = false;      // the store forgot a renewal

  std::int64_t since() const noexcept { return std::min(queued, granted); }
  // A store may notice only at its next step that a claim has expired.
  std::int64_t ended() const noexcept {
    return why_gone == "expired" ? std::min(gone, until) : gone;
  }
  // True unless it expired in time or its own process ended it.
  bool taken_away() const noexcept {
    return cut_short || (gone != not_yet && why_gone != "expired" && why_gone != "released" &&
                         why_gone != "withdrawn");
  }
};

struct Span {
  std::int64_t begin = 0, end = not_yet;
};

class Account {
 public:
  explicit Account(const History& history);

  const std::vector<Event>& events() const noexcept { return events_; }
  const std::vector<Acquire>& acquires() const noexcept { return acquires_; }  // in order of asking
  const std::vector<Claimed>& claims() const noexcept { return claims_; }
  std::int64_t calm() const noexcept { return calm_; }  // not_yet: there was none
  std::int64_t end() const noexcept { return events_.empty() ? 0 : events_.back().at; }
  const Acquire* acquire(std::uint64_t op) const noexcept;
  // The claim behind a lease; null if the history does not show it or several nodes have it.
  const Claimed* behind(const Acquire& lease) const noexcept;
  std::int64_t runs_again(std::int16_t process, std::int64_t at) const;  // `at`, unless paused then
  bool orphan(const Claimed& claim) const;  // its process died during its life, or before it

 private:
  void see(const Event& event);
  void see_lease(Acquire& acquire, const Event& event);
  void see_claim(const Event& event);
  void see_process(const Event& event);
  Claimed& claim_of(const Event& event);

  using Place = std::pair<std::uint16_t, std::uint64_t>;  // name and claim
  const std::vector<Event>& events_;
  std::vector<Acquire> acquires_;
  std::vector<Claimed> claims_;
  std::map<std::uint64_t, std::size_t> by_op_;
  std::map<Place, std::vector<std::size_t>> by_claim_;  // a restored store may have it again
  std::map<std::int16_t, std::vector<Span>> pauses_;
  std::map<std::int16_t, std::int64_t> deaths_;  // the last
  std::int64_t calm_ = not_yet;
};

using Violations = std::vector<Violation>;
using Judge = void (*)(const Account&, const Expectation&, Violations&);

void check_exclusion(const Account& account, const Expectation& expected, Violations& found);
void check_belief(const Account& account, const Expectation& expected, Violations& found);
void check_fencing(const Account& account, const Expectation& expected, Violations& found);
void check_linear(const Account& account, const Expectation& expected, Violations& found);
void check_lost(const Account& account, const Expectation& expected, Violations& found);
void check_liveness(const Account& account, const Expectation& expected, Violations& found);
void check_fairness(const Account& account, const Expectation& expected, Violations& found);
void check_residue(const Account& account, const Expectation& expected, Violations& found);
void check_cost(const Account& account, const Expectation& expected, Violations& found);
void check_stuck(const Account& account, const Expectation& expected, Violations& found);

// ── words for violations ──
std::string ms(std::int64_t nanoseconds);  // "1234.567 ms"
std::string who(const Acquire& acquire);   // "process 1 (acquire 7, token 1024)"
std::string lock(std::uint16_t name);      // "lock 0"

}  // namespace holdfast::lab
