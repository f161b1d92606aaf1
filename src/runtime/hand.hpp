// The store thread, one per open store. It helps every call that no caller helps: renewals, debts,
// asks of coroutines. In between it reads messages.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "holdfast/backend.hpp"
#include "runtime/gate.hpp"

namespace holdfast::detail {

class Hand : public std::enable_shared_from_this<Hand> {
 public:
  Hand(std::shared_ptr<Hints> hints, std::unique_ptr<Backend> backend) noexcept
      : hints_(std::move(hints)), backend_(std::move(backend)) {}

  Backend& backend() const noexcept { return *backend_; }
  bool start() noexcept;  // false: the system gave no thread or descriptor
  void stop() noexcept;   // joins, unless the store thread itself calls it

  void visit(
      std::shared_ptr<LiveGate> gate) noexcept;  // there is something to start or help at this gate
  void renew(LiveClaim& claim) noexcept;         // goes with the next round; needs no memory

  // A waiter that sleeps until `until` reads the messages itself, because the next may be its own
  // grant. One waiter does so at a time, instead of the store thread, because a message wakes all
  // readers.
  void read_messages(Parker& parker, BootTime until) noexcept;

 private:
  // Many renewals in one call.
  struct Round final : Pending<std::span<Answer>> {
    void done(std::span<Answer> answers) noexcept override;
    std::array<LiveClaim*, 100> claims;
    std::array<Keep, 100> keeps;
    std::array<core::Sent, 100> sent;
    std::size_t size = 0;
  };
  struct Helped {
    std::shared_ptr<LiveGate> gate;
    LiveClaim* claim;
    const Call* call;
  };

  void run() noexcept;
  std::shared_ptr<LiveGate> next_visit() noexcept;
  void start_rounds();
  void help() noexcept;
  void listen() noexcept;
  const std::shared_ptr<Hints> hints_;  // of the backend, so destroyed after it
  const std::unique_ptr<Backend> backend_;
  Parker parker_;
  std::thread thread_;
  // Who reads the messages.
  std::atomic<bool> waiter_reads_{false};
  std::atomic<bool> hand_reads_{false};
  std::atomic<bool> hand_dozes_{false};     // as long as that waiter reads
  std::atomic<std::uint32_t> readings_{0};  // by waiters so far …
  std::uint32_t readings_seen_ = 0;         // … as the store thread last saw it

  std::mutex mutex_;
  LiveGate* first_visit_ = nullptr;
  LiveGate* last_visit_ = nullptr;
  core::List<LiveClaim, OfRound> renewals_;
  bool stopping_ = false;

  // Used by the store thread alone.
  std::vector<Helped> helped_;
  std::vector<std::unique_ptr<Round>> rounds_;
};

}  // namespace holdfast::detail
