// Belief: valid(), as seen at every event. It must not be true for two leases that exclude each
// other, nor longer than recorded, nor after the store has ended the claim, even if nobody else got
// in.
#include "lab/check/sweep.hpp"

namespace holdfast::lab {
namespace {

class Beliefs {
 public:
  explicit Beliefs(const Account& account) : account_(account) {
    for (const Event& event : account.events()) {
      if (event.at > now_) earlier_ = std::exchange(now_, event.at);
      see(event);
    }
    for (auto& [op, belief] : open_) close(belief, not_yet, now_);
  }

  struct Belief {
    Held held;
    std::int64_t last_seen = 0;  // valid() was true at this event
  };
  const std::vector<Belief>& all() const noexcept { return all_; }

 private:
  void see(const Event& event) {
    switch (event.what) {
      case What::granted:
      case What::believes: begin(event); break;
      case What::doubts:
      case What::lost:
      case What::release: end(event.op); break;
      case What::crash: die(event.process); break;
      default: break;
    }
  }
  void begin(const Event& event) {
    const Acquire* lease = account_.acquire(event.op);
    if (lease && lease->leased()) open_[event.op] = {event.at, not_yet, lease};
  }
  void end(std::uint64_t op) {
    const auto open = open_.find(op);
    if (open == open_.end()) return;
    close(open->second, now_, earlier_);
    open_.erase(open);
  }
  void die(std::int16_t process) {
    if (process == nobody) return;
    std::erase_if(open_, [&](const auto& open) {
      if (open.second.lease->process != process) return false;
      close(open.second, now_, earlier_);
      return true;
    });
  }
  void close(Held held, std::int64_t at, std::int64_t last_seen) {
    held.end = at;
    all_.push_back({held, std::max(held.begin, last_seen)});
  }

  const Account& account_;
  std::map<std::uint64_t, Held> open_;
  std::vector<Belief> all_;
  std::int64_t now_ = -1, earlier_ = -1;
};

}  // namespace

void check_belief(const Account& account, const Expectation& expected, Violations& found) {
  if (!expected.exclusive) return;
  const Beliefs beliefs(account);
  std::vector<Held> held;
  for (const auto& belief : beliefs.all()) {
    held.push_back(belief.held);
    const Acquire& lease = *belief.held.lease;
    // `until` was recorded in true time; a clock whose rate has changed since reaches it a bit
    // later.
    if (belief.last_seen > lease.until &&
        belief.last_seen - lease.until > expected.ttl.count() / 50)
      found.push_back({Checker::belief,
                       lock(lease.name) + ": " + who(lease) + " saw valid() true " +
                           ms(belief.last_seen - lease.until) + " after its lease was over",
                       belief.last_seen});
    const Claimed* claim = account.behind(lease);
    if (!claim || claim->taken_away()) continue;
    const std::int64_t ended = std::min(claim->gone, claim->until);
    if (belief.held.begin < belief.held.end && belief.last_seen > ended)
      found.push_back({Checker::belief,
                       lock(lease.name) + ": " + who(lease) + " saw valid() true " +
                           ms(belief.last_seen - ended) + " after the store had ended its claim",
                       belief.last_seen});
  }
  for (const Crowd& crowd : crowds(std::move(held)))
    found.push_back({Checker::belief,
                     lock(crowd.newcomer->name) + ": " + who(*crowd.newcomer) + " and " +
                         who(*crowd.other) + " both see valid() true",
                     crowd.at});
}

}  // namespace holdfast::lab
