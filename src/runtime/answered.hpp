// A call that one thread makes and waits for: holders, list, revoke, guarantees, init, inspect,
// downgrade. Not on that thread's stack, because the answer may come after the thread gave up.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

#include "runtime/hand.hpp"

namespace holdfast::detail {

// Called now and then on the caller's thread, with the number of keys that a listing has looked
// at. False ends the listing.
using LookedAt = std::function<bool(std::uint64_t keys)>;

template <class R, class Subject, class Kept = R>
class Answered final : public Pending<R> {
 public:
  // start(subject, call) passes the call to the backend. The request points to the subject, which
  // lives as long as the call. nullopt: the store did not answer in time, or looked_at said false.
  template <class Start>
  static std::optional<Kept> from(Hand& hand, BootTime deadline, Subject subject, Start&& start,
                                  const LookedAt& looked_at = {}) {
    const std::unique_ptr<Answered, Leave> call(new Answered(std::move(subject), deadline));
    start(call->subject_, *call);
    while (!call->finished() && BootClock::now() < call->due_.load()) {
      const BootTime soon = looked_at ? BootClock::now() + pause : BootTime::max();
      hand.backend().help(call.get(), std::min(call->due_.load(), soon), -1);
      if (looked_at && !call->finished() && !looked_at(call->keys_)) return std::nullopt;
    }
    if (!call->finished()) return std::nullopt;
    return std::move(call->answer_);
  }

  BootTime looked_at(std::uint64_t keys) noexcept override {
    if (parties_.load(std::memory_order_acquire) < 2) return {};  // nobody waits for it any more
    keys_ = keys;
    const BootTime due = BootClock::now() + patience_;
    due_ = due;
    return due;
  }

  void done(R answer) noexcept override {
    if constexpr (std::is_same_v<R, std::span<Answer>>) {
      if (!answer.empty()) answer_ = std::move(answer[0]);
    } else {
      answer_ = std::move(answer);
    }
    this->finished_.store(true, std::memory_order_release);
    leave();
  }

 private:
  static constexpr Millis pause{100};

  struct Leave {
    void operator()(Answered* call) const noexcept { call->leave(); }
  };
  Answered(Subject subject, BootTime due)
      : subject_(std::move(subject)), patience_(due - BootClock::now()), due_(due) {
    this->deadline = due;
  }
  ~Answered() = default;
  void leave() noexcept {
    if (parties_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  const Subject subject_;
  const BootClock::duration patience_;  // of each page
  std::atomic<BootTime> due_;
  std::atomic<std::uint64_t> keys_{0};
  std::optional<Kept> answer_;
  std::atomic<int> parties_{2};  // the caller and the backend
};

}  // namespace holdfast::detail
