#include "lab/check/account.hpp"

namespace holdfast::lab {

Account::Account(const History& history) : events_(history.events()) {
  for (const Event& event : events_) see(event);
}

void Account::see(const Event& event) {
  switch (event.what) {
    case What::ask:
      by_op_[event.op] = acquires_.size();
      acquires_.push_back({.process = event.process,
                           .name = event.name,
                           .weight = event.weight,
                           .capacity = event.capacity,
                           .op = event.op,
                           .owner = event.owner,
                           .asked = event.at});
      break;
    case What::granted:
    case What::refused:
    case What::renewed:
    case What::lost:
    case What::release:
    case What::released:
      if (const auto known = by_op_.find(event.op); known != by_op_.end())
        see_lease(acquires_[known->second], event);
      break;
    case What::store_queued:
    case What::store_granted:
    case What::store_renewed:
    case What::store_ended: see_claim(event); break;
    case What::pause:
    case What::resume:
    case What::crash: see_process(event); break;
    case What::calm: calm_ = event.at; break;
    default: break;
  }
}

void Account::see_lease(Acquire& acquire, const Event& event) {
  switch (event.what) {
    case What::granted:
      acquire.granted = event.at;
      acquire.until = event.until;
      acquire.token = event.token;
      acquire.claim = event.claim;
      break;
    case What::refused: acquire.refused = event.at; break;
    case What::renewed: acquire.until = event.until; break;
    case What::lost:
      if (acquire.lost != not_yet) break;
      acquire.lost = event.at;
      acquire.why_lost = event.note;
      break;
    case What::release: acquire.release = std::min(acquire.release, event.at); break;
    case What::released:
      acquire.released = event.at;
      acquire.said = event.note;
      break;
    default: break;
  }
}

// The latest claim with that id; a new one if that has ended or never existed.
Claimed& Account::claim_of(const Event& event) {
  std::vector<std::size_t>& known = by_claim_[{event.name, event.claim}];
  if (!known.empty() && claims_[known.back()].gone == not_yet) return claims_[known.back()];
  known.push_back(claims_.size());
  claims_.push_back({.process = event.process,
                     .name = event.name,
                     .claim = event.claim,
                     .op = event.op,
                     .weight = event.weight,
                     .capacity = event.capacity});
  return claims_.back();
}

void Account::see_claim(const Event& event) {
  Claimed& claim = claim_of(event);
  switch (event.what) {
    case What::store_queued:
      claim.queued = event.at;
      if (event.until != 0) claim.until = event.until;
      break;
    case What::store_granted:
      claim.several |= claim.granted != not_yet && claim.node != event.node;
      claim.node = event.node;
      claim.granted = event.at;
      claim.number = event.token;
      claim.until = event.until;
      claim.ttl = event.until - event.at;
      break;
    case What::store_renewed:
      claim.cut_short |= event.until < claim.until;
      claim.until = std::max(claim.until, event.until);
      break;
    case What::store_ended:
      claim.gone = event.at;
      claim.why_gone = event.note;
      break;
    default: break;
  }
}

void Account::see_process(const Event& event) {
  if (event.process == nobody) return;
  std::vector<Span>& pauses = pauses_[event.process];
  if (event.what == What::pause) {
    pauses.push_back({.begin = event.at});
    return;
  }
  if (!pauses.empty()) pauses.back().end = std::min(pauses.back().end, event.at);
  if (event.what != What::crash) return;
  deaths_[event.process] = event.at;
  for (Acquire& acquire : acquires_)
    if (acquire.process == event.process && acquire.done() == not_yet) acquire.died = event.at;
}

const Acquire* Account::acquire(std::uint64_t op) const noexcept {
  const auto known = by_op_.find(op);
  return known == by_op_.end() ? nullptr : &acquires_[known->second];
}

const Claimed* Account::behind(const Acquire& lease) const noexcept {
  const auto known = by_claim_.find({lease.name, lease.claim});
  if (known == by_claim_.end()) return nullptr;
  const Claimed* latest = nullptr;
  for (const std::size_t index : known->second)
    if (claims_[index].granted <= lease.granted) latest = &claims_[index];
  return latest && !latest->several ? latest : nullptr;
}

std::int64_t Account::runs_again(std::int16_t process, std::int64_t at) const {
  const auto known = pauses_.find(process);
  if (known == pauses_.end()) return at;
  for (const Span& pause : known->second)
    if (pause.begin <= at && at < pause.end) return pause.end;
  return at;
}

bool Account::orphan(const Claimed& claim) const {
  const auto death = deaths_.find(claim.process);
  if (death == deaths_.end()) return false;
  const Acquire* wanted = acquire(claim.op);
  return death->second >= (wanted ? wanted->asked : claim.since());
}

}  // namespace holdfast::lab
