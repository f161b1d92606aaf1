// stores/etcd/keep_alives.hpp: what keeps leases alive.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "stores/common/flow.hpp"
#include "stores/etcd/streams.hpp"

namespace holdfast::stores::etcd {

class KeepAlives;

// One stream of keep-alives. It is broken off when requests are under way and nothing at all was
// heard for a while, so one that is slow because it has much to do stays.
class Lane final
    : Stream<etcdserverpb::LeaseKeepAliveRequest, etcdserverpb::LeaseKeepAliveResponse> {
 public:
  Lane(Connection& connection, KeepAlives& of);
  using Stream::end;
  using Stream::take_off;
  std::size_t unanswered() const noexcept { return unanswered_.load(std::memory_order_relaxed); }
  Later<LeaseKept> once(Member& member, std::int64_t lease);

 private:
  struct Asked {
    const Talk* talk;
    BootTime sent;
    Pledge<LeaseKept> promise;
  };
  Flow listen_for_silence();
  void heard(const Talk& from, const etcdserverpb::LeaseKeepAliveResponse& response) noexcept final;
  void ended(const Talk& what) noexcept final;

  KeepAlives& all_;
  std::multimap<std::int64_t, Asked> asked_;
  std::atomic<std::size_t> unanswered_ = 0;  // its length
  BootTime heard_at_{};                      // or has nothing to hear since then
  bool listening_ = false;                   // somebody listens for silence
};

// Keep-alives on many streams, because a member serves a stream one lease after another, and each
// costs a follower a round trip to the leader. To the leader itself, if it is one of our members.
//
// A member that is slow is not asked for a lease again while it has not answered for it: it would
// be slower still.
class KeepAlives {
 public:
  explicit KeepAlives(Connection& connection);
  Later<LeaseKept> once(std::int64_t lease, BootTime limit, Keeping how);
  void leave(std::size_t place) noexcept;   // what is unanswered there goes elsewhere
  void saw(std::uint64_t term) noexcept;    // of raft: another may lead
  void silent(std::size_t place) noexcept;  // that member is

 private:
  Flow ask(std::int64_t lease);
  void tell(std::int64_t lease, const LeaseKept& kept) noexcept;
  Lane& choose() noexcept;
  Member& member();
  Flow find_leader(std::uint64_t term);
  void break_off(std::optional<std::size_t> place = {}) noexcept;

  Connection& connection_;
  std::deque<Lane> lanes_;
  std::atomic<std::size_t> open_lanes_ = 1;

  std::mutex mutex_;
  std::map<std::int64_t, std::vector<Pledge<LeaseKept>>> under_way_;  // by lease
  std::atomic<std::uint64_t> term_ = 0;
  std::optional<std::size_t> leader_;  // its place
  bool looking_ = false;               // for the leader
  BootTime look_from_{};               // then; never: all members know who leads
  std::size_t left_ = 0;               // how often a member was silent: the next one is asked
};

}  // namespace holdfast::stores::etcd
