// stores/common/courier.hpp: for clients that answer on their own threads.
//
// The core does not run on such a thread. The client's thread puts an answer or a hint down here,
// and a thread that helps delivers it: in order, one thread at a time, with no mutex held, and if
// possible the thread that waits for the call. So the client's threads never wait for anybody, and
// a store may end on any thread that helps (decision 0013).
//
// At its deadline, a call that is still open is answered here: `unknown` if it was sent, else `no`.
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

  // A call that was started and not answered yet. The code that works on it keeps a reference. The
  // first answer counts; later ones are ignored.
  class Open : public Letter {
   public:
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

    bool answered() const noexcept;
    void sent() noexcept;                    // from now on it may have been applied
    void trouble(Problem problem) noexcept;  // the answer if its deadline comes

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
    bool begun_ = false;  // before this, its deadline does not count
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

    // See Pending::looked_at. If the call was answered meanwhile, no time is left.
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

  // When it is due, a thread that helps calls `tick`, which returns when it is due again.
  Courier(Hints& hints, std::function<BootTime(BootTime now)> tick)
      : hints_(hints), tick_(std::move(tick)) {}

  // Begins work on a call: begin(ticket). If memory runs out, the call is answered with that.
  // `count`: how many answers the call wants, if it is for several.
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

  // Gives a hint, in order with the answers: tell([=](Hints& hints) { hints.gone(name, claim); }).
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
  // Returns what to deliver; null: the call was answered before.
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
  BootTime deadline_ = BootTime::max();  // not after that of any begun call
  bool carrying_ = false;
  bool missed_ = false;  // a hint was dropped: no memory
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
