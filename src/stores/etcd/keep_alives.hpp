// stores/etcd/keep_alives.hpp: keep-alives of leases.
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

// One stream of keep-alives. It is given up if requests are under way and nothing at all was heard
// for a while. So a stream that is slow because it has much to do stays.
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
  std::atomic<std::size_t> unanswered_ = 0;  // size of asked_
  BootTime heard_at_{};                      // the last answer, or the first request after a rest
  bool listening_ = false;                   // listen_for_silence() runs
};

// Keep-alives on many streams, because a member serves a stream one lease after another, and each
// costs a follower a round trip to the leader. They go to the leader itself if the URL names it.
//
// A renewal (Keeping::from_then_on) joins an earlier keep-alive of its lease that is still
// unanswered, because sending another would make a slow member slower still.
class KeepAlives {
 public:
  explicit KeepAlives(Connection& connection);
  Later<LeaseKept> once(std::int64_t lease, BootTime limit, Keeping how);
  void leave(std::size_t place) noexcept;   // what is unanswered there moves
  void saw(std::uint64_t term) noexcept;    // of raft: if new, another may lead
  void silent(std::size_t place) noexcept;  // that member was silent

 private:
  Flow ask(std::int64_t lease);
  void tell(std::int64_t lease, const LeaseKept& kept) noexcept;
  Lane& choose() noexcept;
  Member& member();
  Flow find_leader(std::uint64_t term);
  void forget_leader() noexcept;
  void break_off(std::optional<std::size_t> place = {}) noexcept;

  Connection& connection_;
  std::deque<Lane> lanes_;
  std::atomic<std::size_t> open_lanes_ = 1;

  std::mutex mutex_;
  std::map<std::int64_t, std::vector<Pledge<LeaseKept>>> under_way_;  // by lease
  std::atomic<std::uint64_t> term_ = 0;
  std::optional<std::size_t> leader_;  // its place
  bool looking_ = false;               // find_leader() runs
  BootTime look_from_{};               // when to look for it; max: no need to
  std::size_t left_ = 0;               // members to skip from current() on, because silent
};

}  // namespace holdfast::stores::etcd
