// A call that one thread makes and waits for: holders, list, revoke, guarantees, init, downgrade.
// It is not on that thread's stack: if the thread gives up, the answer still has somewhere to go.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>

#include "runtime/hand.hpp"

namespace holdfast::detail {

template <class R, class Subject, class Kept = R>
class Answered final : public Pending<R> {
 public:
  // start(subject, call) passes it to the backend; the subject, what the request points to, lives
  // as long as the call. Nothing: the store did not answer in time.
  template <class Start>
  static std::optional<Kept> from(Hand& hand, BootTime deadline, Subject subject, Start&& start) {
    auto* call = new Answered(std::move(subject));
    call->deadline = deadline;
    start(call->subject_, *call);
    while (!call->finished() && BootClock::now() < deadline)
      hand.backend().help(call, deadline, -1);
    std::optional<Kept> answer;
    if (call->finished()) answer = std::move(call->answer_);
    call->leave();
    return answer;
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
  explicit Answered(Subject subject) : subject_(std::move(subject)) {}
  ~Answered() = default;
  void leave() noexcept {
    if (parties_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  const Subject subject_;
  std::optional<Kept> answer_;
  std::atomic<int> parties_{2};  // the caller and the backend
};

}  // namespace holdfast::detail
