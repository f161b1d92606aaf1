#include "stores/etcd/keep_alives.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "stores/etcd/connection.hpp"

namespace holdfast::stores::etcd {

namespace {

constexpr auto longest_silence = std::chrono::seconds(1);
constexpr std::size_t most_lanes = 32;
constexpr std::size_t few = 2;  // unanswered: one more lane would gain nothing

Flow fail_at(Later<bool> limit, Pledge<LeaseKept> promise) {
  co_await limit;
  promise.answer({});
}

Flow pass_on(Later<LeaseKept> kept, Pledge<LeaseKept> promise) { promise.answer(co_await kept); }

}  // namespace

Lane::Lane(Connection& connection, KeepAlives& of)
    : Stream(connection,
             [](Member& member, grpc::ClientContext* context, auto* queue) {
               return member.lease->PrepareAsyncLeaseKeepAlive(context, queue);
             }),
      all_(of) {}

Later<LeaseKept> Lane::once(Member& member, std::int64_t lease) {
  const Pledge<LeaseKept> promise;
  const BootTime sent = BootClock::now();
  pb::LeaseKeepAliveRequest request;
  request.set_id(lease);
  const auto on = talk(member);
  if (!on) return promise.later();
  bool listen = false;
  {
    const std::lock_guard lock(mutex_);
    if (talk_ != on) {
      promise.answer({});  // the stream broke meanwhile
      return promise.later();
    }
    if (asked_.empty()) heard_at_ = sent;
    asked_.emplace(lease, Asked{on.get(), sent, promise});
    ++unanswered_;
    listen = !std::exchange(listening_, true);
  }
  try {
    on->say(request);
  } catch (const std::bad_alloc&) {
    break_off();  // else its entry would take the answer to the next one
  }
  if (listen && !listen_for_silence().begun) {
    const std::lock_guard lock(mutex_);
    listening_ = false;
  }
  return promise.later();
}

Flow Lane::listen_for_silence() {
  for (;;) {
    BootTime until;
    {
      const std::lock_guard lock(mutex_);
      until = heard_at_ + longest_silence;
    }
    const bool goes_on = co_await connection_.pause(until);
    {
      const std::lock_guard lock(mutex_);
      listening_ = goes_on && !asked_.empty();
      if (!listening_) co_return;
      if (BootClock::now() - heard_at_ < longest_silence) continue;
      listening_ = false;
    }
    const auto silent = take_off();
    if (silent) all_.silent(silent->place);
    co_return end(silent);
  }
}

// Answers come in the order of the requests, so this one is for the first request for the lease.
void Lane::heard(const Talk& from, const pb::LeaseKeepAliveResponse& response) noexcept {
  std::optional<Asked> asked;
  {
    const std::lock_guard lock(mutex_);
    heard_at_ = BootClock::now();
    auto [at, end] = asked_.equal_range(response.id());
    while (at != end && at->second.talk != &from) ++at;
    if (at == end) return;
    asked = std::move(at->second);
    asked_.erase(at);
    --unanswered_;
  }
  LeaseKept kept;
  kept.outcome = Outcome::done;
  kept.revision = response.header().revision();
  kept.term = response.header().raft_term();
  kept.sent = asked->sent;
  kept.ttl = std::chrono::seconds(response.ttl());
  asked->promise.answer(std::move(kept));
}

void Lane::ended(const Talk& what) noexcept {
  const auto unanswered = taken_with(what, asked_, [](const Asked& asked) { return asked.talk; });
  unanswered_ -= unanswered.size();
  if (!unanswered.empty() && !what.left) all_.silent(what.place);  // we did not end it
  for (const auto& [lease, asked] : unanswered) asked.promise.answer({});
}

KeepAlives::KeepAlives(Connection& connection) : connection_(connection) {
  for (std::size_t i = 0; i < most_lanes; ++i) lanes_.emplace_back(connection, *this);
}

Later<LeaseKept> KeepAlives::once(std::int64_t lease, BootTime limit, Keeping how) {
  const Pledge<LeaseKept> promise;
  if (!fail_at(connection_.pause(limit), promise).begun) return promise.later();
  if (how == Keeping::from_now_on) {
    if (!pass_on(choose().once(member(), lease), promise).begun) promise.answer({});
    return promise.later();
  }
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    auto& all = under_way_[lease];
    first = all.empty();
    all.push_back(promise);
  }
  if (first && !ask(lease).begun) tell(lease, {});
  return promise.later();
}

Flow KeepAlives::ask(std::int64_t lease) {
  struct Told {
    ~Told() { of.tell(lease, kept); }  // also if memory runs out, because others wait for it
    KeepAlives& of;
    const std::int64_t lease;
    LeaseKept kept{};
  } told{*this, lease};
  told.kept = co_await choose().once(member(), lease);
}

void KeepAlives::tell(std::int64_t lease, const LeaseKept& kept) noexcept {
  decltype(under_way_)::node_type told;
  {
    const std::lock_guard lock(mutex_);
    told = under_way_.extract(lease);
  }
  if (!told) return;
  for (const auto& each : told.mapped()) each.answer(kept);
}

// The lane with the least to do, or another one if all are busy.
Lane& KeepAlives::choose() noexcept {
  const std::size_t open = open_lanes_.load();
  const auto least = std::min_element(
      lanes_.begin(), lanes_.begin() + static_cast<std::ptrdiff_t>(open),
      [](const Lane& a, const Lane& b) { return a.unanswered() < b.unanswered(); });
  if (least->unanswered() < few || open == lanes_.size()) return *least;
  open_lanes_ = open + 1;
  return lanes_[open];
}

Member& KeepAlives::member() {
  const BootTime now = BootClock::now();
  std::uint64_t term = 0;
  bool look = false;
  std::size_t place = connection_.current().place;
  {
    const std::lock_guard lock(mutex_);
    term = term_;
    look = connection_.members() > 1 && !looking_ && look_from_ <= now;
    looking_ |= look;
    place = leader_ ? *leader_ : place + left_;
  }
  if (look && !find_leader(term).begun) {
    const std::lock_guard lock(mutex_);
    looking_ = false;
  }
  return connection_.member(place);
}

Flow KeepAlives::find_leader(std::uint64_t term) {
  std::vector<Later<ServerStatus>> asked;
  const BootTime deadline = BootClock::now() + longest_silence;
  for (std::size_t place = 0; place < connection_.members(); ++place)
    asked.push_back(connection_.status(place, deadline));
  std::optional<std::size_t> leader;
  std::uint64_t newest = term;
  bool all_follow = true;  // then their leader is a member that the URL does not name
  for (std::size_t place = 0; place < asked.size(); ++place) {
    const ServerStatus status = co_await asked[place];
    all_follow &= status.done() && status.follows;
    if (!status.done() || status.term < newest) continue;
    if (status.term > newest) leader.reset();
    newest = status.term;
    if (status.leads) leader = place;
  }
  bool moved = false;
  {
    const std::lock_guard lock(mutex_);
    looking_ = false;
    if (newest < term_) co_return;  // another was chosen meanwhile
    term_ = newest;
    look_from_ = leader || all_follow ? BootTime::max() : BootClock::now() + longest_silence;
    moved = leader && leader_ != leader;
    leader_ = leader;
  }
  if (moved) break_off();
}

// Requires mutex_. Somebody looks for the leader at once, or nobody would do so again.
void KeepAlives::forget_leader() noexcept {
  leader_.reset();
  look_from_ = {};
}

void KeepAlives::saw(std::uint64_t term) noexcept {
  if (term <= term_.load(std::memory_order_relaxed)) return;
  {
    const std::lock_guard lock(mutex_);
    if (term <= term_) return;
    const bool first = term_ == 0;
    term_ = term;
    forget_leader();
    if (first) return;
  }
  break_off();
}

// Go to the next member, but only once if many streams report the same one.
void KeepAlives::silent(std::size_t place) noexcept {
  const std::size_t current = connection_.current().place, members = connection_.members();
  const std::lock_guard lock(mutex_);
  if (leader_ == place) forget_leader();
  if ((current + left_) % members == place) left_ = (left_ + 1) % members;
}

void KeepAlives::leave(std::size_t place) noexcept {
  {
    const std::lock_guard lock(mutex_);
    left_ = 0;
    if (leader_ == place) forget_leader();
  }
  break_off(place);
}

void KeepAlives::break_off(std::optional<std::size_t> place) noexcept {
  // Take all off first, so that no unanswered keep-alive moves to a stream that is about to end.
  std::array<decltype(lanes_.front().take_off()), most_lanes> taken_off;
  for (std::size_t i = 0; i < most_lanes; ++i) taken_off[i] = lanes_[i].take_off(place);
  for (std::size_t i = 0; i < most_lanes; ++i) lanes_[i].end(taken_off[i]);
}

}  // namespace holdfast::stores::etcd
