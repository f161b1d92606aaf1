// stores/etcd/entry.hpp: one of our claims, for as long as it may be in the store.
#pragma once

#include <coroutine>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "stores/etcd/asked.hpp"
#include "stores/etcd/client.hpp"
#include "stores/etcd/keys.hpp"
#include "stores/etcd/leases.hpp"

namespace holdfast::stores::etcd {

// Lets one flow at a time work on a claim; the others wait in line.
class Turn {
 public:
  class Held {
   public:
    explicit Held(Turn& turn) noexcept : turn_(&turn) {}
    Held(Held&& other) noexcept : turn_(std::exchange(other.turn_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (turn_) turn_->pass();
    }

   private:
    Turn* turn_;
  };

  auto take() noexcept {
    struct Taking {
      Turn& turn;
      bool await_ready() const noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> flow) const { return turn.stand_in_line(flow); }
      Held await_resume() const noexcept { return Held(turn); }
    };
    return Taking{*this};
  }

 private:
  bool stand_in_line(std::coroutine_handle<> flow) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(taken_, true)) return false;
    line_.push_back(flow);
    return true;
  }
  void pass() noexcept {
    std::coroutine_handle<> next;
    {
      const std::lock_guard lock(mutex_);
      taken_ = !line_.empty();
      if (!taken_) return;
      next = line_.front();
      line_.pop_front();
    }
    next.resume();
  }

  std::mutex mutex_;
  std::deque<std::coroutine_handle<>> line_;
  bool taken_ = false;
};

struct Entry {
  Entry(const Ask& ask, const Layout& layout);

  const std::string name;
  const ClaimId claim;
  const std::string prefix;  // of all keys of this name
  const Millis ttl;
  const Millis lock_delay;  // 0 if the layout has none
  const std::string about;
  Turn turn;

  // The store's mutex guards the rest. Only the flow that has the turn changes these; but without
  // it, renewals prove `lease`, `modified` may grow, and watches clear `held` …
  std::string key{};  // valid while it has a lease
  Shape shape;
  std::optional<Lease> lease{};        // of the claim's key
  std::int64_t created = 0;            // 0: as far as we know, it is not in the store
  std::int64_t modified = 0;           // the newest mod revision of its key that we know
  bool doubtful = false;               // a copy of the request that made it may still arrive
  std::optional<Lease> delay_lease{};  // of the delay's key
  bool delay_written = false;
  bool held = false;
  bool over = false;  // withdrawn, or it left no trace

  // … while these change without the turn, too.
  WatchId ahead_watch = 0;
  std::string ahead_key{};
  std::int64_t listed = 0;  // the revision at which its line was last read
  AskedPtr asked{};         // the last ask that was answered `queued`
  WatchId own_watch = 0;
  std::int64_t own_read = 0;  // the revision at which its own key was last read

  Standing standing() const;  // as it is written to its key
};
using EntryPtr = std::shared_ptr<Entry>;

}  // namespace holdfast::stores::etcd
