// stores/etcd/entry.hpp: one claim of ours, as long as it may be in the store.
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

// One flow at a time works on a claim; the others stand in line.
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
  const Millis lock_delay;  // 0 where the layout has none
  const std::string about;
  Turn turn;

  // The rest is guarded by the store's mutex, and changed only by whoever has the turn …
  std::string key{};  // it has one when it has a lease
  Shape shape;
  std::optional<Lease> lease{};        // what it counts from is moved on by renewals, too
  std::int64_t created = 0;            // 0: it is not in the store, as far as we know
  std::int64_t modified = 0;           // the newest revision of its key that we know
  bool doubtful = false;               // a copy of what made it may still be on its way
  std::optional<Lease> delay_lease{};  // of the delay's key
  bool delay_written = false;
  bool held = false;
  bool over = false;  // withdrawn

  // … but these by those who watch.
  WatchId ahead_watch = 0;
  std::string ahead_key{};
  std::int64_t listed = 0;  // the revision of the line that it was last placed by
  AskedPtr asked{};         // what was answered "queued" last
  WatchId own_watch = 0;

  Standing standing() const;  // as it is written
};
using EntryPtr = std::shared_ptr<Entry>;

}  // namespace holdfast::stores::etcd
