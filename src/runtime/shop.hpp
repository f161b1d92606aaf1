// An open store: its backend, its store thread, its gates, its terms, its counts.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "core/url.hpp"
#include "holdfast/store.hpp"
#include "runtime/gate.hpp"
#include "runtime/hand.hpp"

namespace holdfast::detail {

struct Counts {
  std::atomic<std::uint64_t> acquired{0}, handed_over{0}, released{0}, renewed{0}, at_risk{0},
      lost{0}, busy{0}, cancelled{0}, unavailable{0}, asks{0}, drops{0}, renewals{0},
      events_dropped{0}, handlers_threw{0};
};

// Hashes and compares gates by their names.
struct ByName {
  using is_transparent = void;
  static std::string_view key(const LiveGate* gate) noexcept { return gate->name(); }
  static std::string_view key(std::string_view name) noexcept { return name; }
  std::size_t operator()(const auto& of) const noexcept {
    return std::hash<std::string_view>()(key(of));
  }
  bool operator()(const auto& a, const auto& b) const noexcept { return key(a) == key(b); }
};

struct Shop final : std::enable_shared_from_this<Shop> {
  static Result<std::shared_ptr<Shop>> open(const Module* module, std::string_view url,
                                            const StoreOptions& options);
  Shop(Url url, const StoreOptions& options);
  ~Shop();

  // Why no call may go on: forked, or closed; nullopt if one may.
  std::optional<Error> unfit();
  // Every public call that asks the store asks this first. It also starts all threads that a lease
  // needs, so that no lock is ever held that nobody renews.
  std::optional<Error> ready();

  std::shared_ptr<LiveGate> gate(const std::string& name);
  void forget(const LiveGate& gate) noexcept;
  std::shared_ptr<const core::Wish> shared_wish(core::Wish wish);
  std::vector<std::shared_ptr<LiveGate>> gates();
  bool in_use();  // this process holds a lock of it, waits for one, or owes a release

  Error error(const std::string& name, Errc code, const core::Failure* failure) const;
  Error error(const Problem& problem) const;
  // Counts it, and passes it on if on_event is set.
  void tell(Event::Kind kind, const std::string& name, Token token, BootTime since,
            std::string_view reason) noexcept;
  void warn(const Problem& problem) noexcept;
  void resume(AsyncWaiter& waiter) noexcept;
  void count_debts(std::int64_t by) noexcept;
  bool await_debts(BootTime until) noexcept;  // true: all are paid
  Result<void> close(Millis at_most);

  const Url url;
  std::string prefix;
  StoreOptions options;
  core::Terms terms;
  Counts counts;
  std::atomic<std::int64_t> debts{0};
  std::atomic<long> gate_count{0};  // each gate has a reference to this
  const std::uint32_t epoch;
  std::atomic<bool> closed{false};
  std::shared_ptr<Hand> hand;  // has the backend; its thread may outlive this

 private:
  friend class Inbox;
  void pass_on(Event event);  // requires on_event
  std::shared_ptr<LiveGate> find(std::string_view name) noexcept;

  std::mutex gates_mutex_;
  // A gate removes itself before it is destroyed, so weak_from_this() works on every gate in here.
  std::unordered_set<LiveGate*, ByName, ByName> gates_;
  std::shared_ptr<const core::Wish> last_wish_;
  std::mutex debts_mutex_;
  std::condition_variable debts_paid_;
  std::atomic<bool> ready_{false};
  std::mutex ready_mutex_;
};

// On a callback thread: calls the store's StoreOptions::resume, or else resumes the coroutine here.
void resume_here(AsyncWaiter& waiter) noexcept;

// Takes the hints of the backend and lives as long as it. The shop may be destroyed on the store
// thread in the middle of a message; later messages then find no shop and have no effect.
class Inbox final : public Hints {
 public:
  explicit Inbox(std::weak_ptr<Shop> shop) noexcept : shop_(std::move(shop)) {}
  void granted(std::string_view name, const ClaimId& claim, const Answer& answer) noexcept override;
  void look(std::string_view name) noexcept override;
  void gone(std::string_view name, const ClaimId& claim) noexcept override;
  void alive(BootTime sent, Millis ttl) noexcept override;
  void warn(const Problem& problem) noexcept override;
  void in_doubt() noexcept override;

 private:
  template <class Tell>
  void for_all_gates(Tell&& tell) noexcept;

  const std::weak_ptr<Shop> shop_;
};

// One name with its options: what a Lock points to.
struct Place {
  std::shared_ptr<LiveGate> gate;  // null if there is a verdict
  std::shared_ptr<Shop> shop;
  std::shared_ptr<const core::Wish> wish;
  Millis wait = forever;
  core::Entrant owner;
  std::optional<Error> verdict;  // a bad name or option; every acquire returns it
};

}  // namespace holdfast::detail
