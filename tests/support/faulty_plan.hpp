// tests/support/faulty_plan.hpp: what goes wrong for a FaultyClient, and how its messages get lost.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "support/faulty.hpp"

namespace holdfast::support {

// Shared by the client and its backend, because the backend may outlive the client.
struct FaultyClient::Plan {
  std::mutex mutex;
  std::optional<Injection> injection;
  int counted = 0;
  int injected = 0;
  std::array<int, 5> seen{};
  bool lose_hints = false;
  std::atomic<int> readers = 0;
  std::atomic<int> unanswered = 0;
  std::vector<std::function<void(Backend&)>> late;
  Backend* real = nullptr;
  Hints* client = nullptr;
  Traits traits;
  Manners manners;
  std::optional<std::pair<BootTime, Millis>> lost_proof{};

  std::optional<Fault> strike(Calls kind) {
    const std::lock_guard guard(mutex);
    ++seen[static_cast<std::size_t>(std::countr_zero(kind))];
    if (!injection || (injection->calls & kind) == 0) return std::nullopt;
    ++counted;
    if (counted < injection->nth || counted - injection->nth >= injection->count)
      return std::nullopt;
    ++injected;
    return injection->fault;
  }
};

// The store's messages on their way to the client.
class Messages final : public Hints {
 public:
  Messages(Hints& client, std::shared_ptr<FaultyClient::Plan> plan)
      : client_(client), plan_(std::move(plan)) {}
  void granted(std::string_view name, const ClaimId& claim,
               const Answer& answer) noexcept override {
    if (!lost()) client_.granted(name, claim, answer);
  }
  void look(std::string_view name) noexcept override {
    if (!lost()) client_.look(name);
  }
  void gone(std::string_view name, const ClaimId& claim) noexcept override {
    if (!lost()) client_.gone(name, claim);
  }
  void warn(const Problem& problem) noexcept override { client_.warn(problem); }
  void alive(BootTime sent, Millis ttl) noexcept override {
    if (!plan_->strike(proofs)) return client_.alive(sent, ttl);
    {
      const std::lock_guard guard(plan_->mutex);
      plan_->lost_proof = {sent, ttl};
    }
    client_.in_doubt();
  }
  void in_doubt() noexcept override { client_.in_doubt(); }

 private:
  bool lost() {
    const std::lock_guard guard(plan_->mutex);
    return plan_->lose_hints || !plan_->manners.notifies;
  }
  Hints& client_;
  std::shared_ptr<FaultyClient::Plan> plan_;
};

}  // namespace holdfast::support
