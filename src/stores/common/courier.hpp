// stores/common/courier.hpp: for clients that answer on threads of their own.
//
// Nothing of the core runs on such a thread. An answer or a hint is put down here and handed over,
// in that order, by a thread that helps: one at a time, with no mutex held; the one that stands
// behind the call, if it sleeps here. So the client's threads never wait for anybody, and a store
// may end on any thread that helps.
//
// A call that is still open at its deadline is answered here: `unknown` if it was sent, else `no`.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "stores/common/seats.hpp"

namespace holdfast::stores {

class Courier {
 public:
  class Letter {
   public:
    virtual ~Letter() = default;

   private:
    friend class Courier;
    virtual void hand_over() noexcept = 0;
    std::shared_ptr<Letter> next_;
  };

  // A call that was started and is not answered. Whoever works on it keeps a reference. The first
  // answer counts; what comes later is ignored.
  class Open : public Letter {
   public:
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

    bool answered() const noexcept;
    void sent() noexcept;                    // from now on it may have been applied
    void trouble(Problem problem) noexcept;  // what to say if its deadline comes

   protected:
    Open(Courier& courier, const Call& call)
        : courier_(courier), call_(&call), deadline_(call.deadline) {}
    ~Open() override = default;

    Courier& courier_;

   private:
    friend class Courier;
    virtual void give_up(Said said, Problem problem) noexcept = 0;  // writes the answer

    const Call* const call_;
    BootTime deadline_;
    std::size_t place_ = 0;
    bool entered_ = false;
    bool begun_ = false;  // until then its deadline does not count
    bool open_ = true;
    bool sent_ = false;
    Problem trouble_{Errc::unavailable, "too_slow", "the store did not answer in time"};
  };

  template <class R>
  class Reply final : public Open {
   public:
    static constexpr bool several = std::is_same_v<R, std::span<Answer>>;
    using Kept = std::conditional_t<several, std::vector<Answer>, R>;

    Reply(Courier& courier, Pending<R>& call, std::size_t count)
        : Open(courier, call), pending_(call) {
      if constexpr (several) kept_.resize(count);
    }
    void answer(Kept kept) noexcept {
      Seats::Rung rung;
      const std::lock_guard lock(courier_.mutex_);
      auto self = courier_.close(*this);
      if (!self) return;
      kept_ = std::move(kept);
      courier_.put_down(std::move(self), &pending_, rung);
    }

    // See Pending::looked_at. What was answered meanwhile has no time left.
    BootTime looked_at(std::uint64_t keys) noexcept {
      const std::lock_guard lock(courier_.mutex_);
      if (!this->open_) return {};
      this->deadline_ = pending_.looked_at(keys);
      courier_.deadline_ = std::min(courier_.deadline_, this->deadline_);
      return this->deadline_;
    }

   private:
    void give_up(Said said, Problem problem) noexcept override;
    void hand_over() noexcept override {
      if constexpr (several) {
        pending_.done(std::span(kept_));
      } else {
        pending_.done(std::move(kept_));
      }
    }

    Pending<R>& pending_;
    Kept kept_{};
  };
  template <class R>
  using Ticket = std::shared_ptr<Reply<R>>;

  // `tick` is called by a thread that helps when it is due, and says when it is due again.
  Courier(Hints& hints, std::function<BootTime(BootTime now)> tick)
      : hints_(hints), tick_(std::move(tick)) {}

  // Begins work on a call: begin(ticket). If it has no memory for that, the call is answered so.
  // `count`: of a call for several.
  template <class R, class Begin>
  void start(Pending<R>& call, std::size_t count, Begin&& begin) noexcept {
    Ticket<R> ticket;
    try {
      ticket = std::make_shared<Reply<R>>(*this, call, count);
      enter(ticket);
      begin(ticket);
      begun(*ticket);
    } catch (const std::bad_alloc&) {
      refuse(call, ticket.get());
    }
  }
  template <class R, class Begin>
  void start(Pending<R>& call, Begin&& begin) noexcept {
    start(call, 0, std::forward<Begin>(begin));
  }

  // A hint, in its order with the answers: tell([=](Hints& hints) { hints.gone(name, claim); }).
  template <class Hint>
  void tell(Hint hint) noexcept {
    std::shared_ptr<Letter> letter;
    try {
      letter = std::make_shared<Told<Hint>>(hints_, std::move(hint));
    } catch (const std::bad_alloc&) {
    }
    Seats::Rung rung;
    const std::lock_guard lock(mutex_);
    if (!letter) missed_ = true;
    put_down(std::move(letter), nullptr, rung);
  }

  void tick_at(BootTime at) noexcept;  // or before
  void help(const Call* call, BootTime until, int wake) noexcept;

 private:
  template <class Hint>
  struct Told final : Letter {
    Told(Hints& to, Hint what) : hints(to), hint(std::move(what)) {}
    void hand_over() noexcept override { hint(hints); }
    Hints& hints;
    Hint hint;
  };

  void enter(std::shared_ptr<Open> open);
  void begun(Open& open) noexcept;
  template <class R>
  void refuse(Pending<R>& call, Open* open) noexcept;
  // What is to be handed over then; null: it was answered.
  std::shared_ptr<Open> give_up(Open& open, Problem problem) noexcept;
  std::shared_ptr<Open> close(Open& open) noexcept;
  void add(std::shared_ptr<Letter> letter) noexcept;
  void put_down(std::shared_ptr<Letter> letter, const Call* call, Seats::Rung& rung) noexcept;
  void ring_one(const Call* call, Seats::Rung& rung) noexcept;
  void keep_watch(Seats::Rung& rung) noexcept;
  bool carry(std::unique_lock<std::mutex>& lock) noexcept;
  void carry_all(std::unique_lock<std::mutex>& lock) noexcept;
  void run_tick(std::unique_lock<std::mutex>& lock, BootTime now) noexcept;
  void give_up_overdue(BootTime now) noexcept;
  bool has_letters() const noexcept { return first_ || missed_; }

  Hints& hints_;
  const std::function<BootTime(BootTime now)> tick_;
  mutable std::mutex mutex_;
  Seats seats_;
  std::vector<std::shared_ptr<Open>> open_;
  std::shared_ptr<Letter> first_;
  Letter* last_ = nullptr;
  BootTime tick_due_ = BootTime::max();
  BootTime deadline_ = BootTime::max();  // not later than the first of those that are open
  bool carrying_ = false;
  bool missed_ = false;  // there was no memory for a hint
};

template <class R>
void Courier::refuse(Pending<R>& call, Open* open) noexcept {
  Problem problem{Errc::unavailable, "resource", "out of memory"};
  {
    Seats::Rung rung;
    const std::lock_guard lock(mutex_);
    if (open && open->entered_)
      return put_down(give_up(*open, std::move(problem)), open->call_, rung);
  }
  R answer{};
  if constexpr (requires { answer.said; }) answer.said = Said::no;
  if constexpr (requires { answer.problem; }) answer.problem = std::move(problem);
  call.done(std::move(answer));
}

template <class R>
void Courier::Reply<R>::give_up(Said said, Problem problem) noexcept {
  if constexpr (several) {
    for (Answer& answer : kept_) {
      answer.said = said;
      try {
        answer.problem = problem;
      } catch (const std::bad_alloc&) {
        answer.problem.errc = problem.errc;
      }
    }
  } else {
    if constexpr (requires { kept_.said; }) kept_.said = said;
    kept_.problem = std::move(problem);
  }
}

}  // namespace holdfast::stores
