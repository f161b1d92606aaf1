// The gate at work: decides under one mutex, and performs the core's orders with none held.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/gate.hpp"
#include "runtime/heart.hpp"
#include "runtime/waiting.hpp"

namespace holdfast::detail {

class LiveGate;
struct Shop;
struct OfRound;

// A claim, which is itself the call of its release; its attempt is the call of its ask.
struct LiveClaim final : core::Claim, core::Link<OfRound>, Pending<std::span<Answer>> {
  explicit LiveClaim(LiveGate& at) noexcept : gate(at) {}
  void begin(BootTime by) noexcept;
  void done(std::span<Answer> answers) noexcept override;
  const Call& call() const noexcept;  // for a thread to help
  LiveGate& gate;
};

struct LiveAttempt final : core::Attempt, Pending<Answer> {
  explicit LiveAttempt(LiveClaim& of) noexcept : claim(of) {}
  void begin(BootTime by) noexcept;
  void done(Answer answer) noexcept override;
  LiveClaim& claim;
};

class LiveGate final : public core::Gate,
                       public Timer,
                       public std::enable_shared_from_this<LiveGate> {
 public:
  LiveGate(std::string name, std::shared_ptr<Shop> shop);
  ~LiveGate() override;

  Shop& shop() const noexcept { return *shop_; }

  // ── callers ──
  // Blocks this thread until the waiter is settled.
  void wait(core::Waiter& waiter) noexcept;
  // True: settled at once. False: when it is settled, the coroutine resumes; maybe already now.
  bool arrive_async(AsyncWaiter& waiter) noexcept;
  void cancel(core::Waiter& waiter) noexcept;
  // The store's answer: yes, gone (it had ended before) or unknown.
  Said give_back(Hold& hold, bool wait) noexcept;
  Result<void> downgrade(Hold& hold);
  std::stop_token lost(Hold& hold);
  void doubt(Hold& hold) noexcept;
  void close() noexcept;
  bool in_use() noexcept {
    const std::lock_guard guard(mutex_);
    return !idle();
  }

  // What a thread's lock() holds until its unlock().
  void keep_for_thread(Lease lease);
  std::shared_ptr<Hold> take_from_thread() noexcept;

  // ── the store ──
  void granted(const ClaimId& claim, const Answer& answer) noexcept;
  void look() noexcept;
  void in_doubt() noexcept;
  void proven() noexcept;
  void gone(const ClaimId& claim) noexcept;
  void renewed(core::Claim& claim, const core::Sent& sent, const Answer& answer) noexcept;
  // The claim's renewal, which is sent now. Extends `deadline` to that of this renewal.
  Keep keep(core::Claim& claim, core::Sent& sent, BootTime& deadline) noexcept;

  // ── our threads ──
  std::shared_ptr<Timer> stay() noexcept override;
  void due(std::shared_ptr<Timer> self) noexcept override;  // on the timer thread
  // On the store thread: starts what is ordered, and returns a claim to help, with its call.
  LiveClaim* visit(const Call*& call) noexcept;
  void stand_down(core::Claim& claim) noexcept;  // this thread no longer helps it

 private:
  friend struct LiveClaim;
  friend struct LiveAttempt;
  friend class Hand;

  Said confirm(LiveClaim& claim) noexcept;
  std::optional<core::Nanos> users_delay(const Answer& answer, std::uint32_t trial) const noexcept;
  core::Claim* make_claim() noexcept override;
  void end_claim(core::Claim* claim) noexcept override;
  bool abandoned() const noexcept override;

  // The one pattern: { lock; event(moment, orders); collect } perform.
  template <class Event>
  void step(core::Collector collector, Event&& event) noexcept;
  bool perform(core::Orders& orders) noexcept;
  static void begin(const core::Orders::Start& order) noexcept;
  void start(const core::Orders::Start& order) noexcept;

  std::mutex mutex_;
  const std::shared_ptr<Shop> shop_;
  std::unique_ptr<std::vector<std::shared_ptr<Hold>>> by_thread_;  // few locks are held that way
  std::shared_ptr<LiveGate> self_;                                 // while it has claims
  std::uint32_t claims_ = 0;
  std::uint32_t debts_told_ = 0;
  // The store thread's list of gates to visit. Requires Hand::mutex_.
  std::shared_ptr<LiveGate> visit_;
  LiveGate* next_visit_ = nullptr;
};

}  // namespace holdfast::detail
