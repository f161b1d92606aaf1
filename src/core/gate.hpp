// The gate: the meeting point of all callers in one process that want one name. It only decides.
//
// Events come in by the calls below, always under the owner's one mutex. The gate collects what is
// to be done as Orders, which the owner performs with no mutex held. A claim in Orders stays alive
// until its answer is given back.
//
//   { lock; gate.arrive(waiter, moment, orders); gate.collect(moment, orders, …); }
//   perform(orders);
//
// At most one claim of the process waits in the store's line (`front_`); others are held or owed.
// The bodies: gate_line.cpp (waiters), gate_ask.cpp (asks for them), gate_lease.cpp (what is held),
// gate_renewal.cpp (renewal and loss), gate.cpp (the rest).
#pragma once

#include <array>
#include <string>

#include "core/claim.hpp"
#include "core/waiter.hpp"

namespace holdfast::core {

struct Orders {
  struct Start {
    Claim* claim;
    Claim::Order what;
  };
  struct Note {
    Event::Kind kind;
    Token token;
    const char* reason;
  };
  static constexpr std::size_t room = 8;

  void clear() noexcept;
  bool empty() const noexcept { return starts == 0 && wakes == 0 && losses == 0 && notes == 0; }

  std::size_t starts = 0, wakes = 0, losses = 0, notes = 0;
  std::array<Start, room> start;
  std::array<Wakeup, room> wake;
  std::array<std::shared_ptr<Hold>, room> loss;  // request the stop of their stop sources
  std::array<Note, room> note;
  std::uint32_t notes_dropped = 0;
  bool hand = false;  // the store thread must start or help what no caller helps
};

// The thread that collects.
struct Collector {
  bool starts = true;            // false: the timer thread, which calls no store
  const Waiter* self = nullptr;  // its own waiter, which needs no waking
};

class Gate {
 public:
  Gate(std::string name, const Terms& terms) noexcept;  // the terms outlive the gate
  virtual ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  const std::string& name() const noexcept { return name_; }
  const Terms& terms() const noexcept { return terms_; }

  // ── callers ──
  void arrive(Waiter& waiter, const Moment& moment, Orders& orders);
  void leave(Waiter& waiter, Errc why, const Moment& moment, Orders& orders);  // busy: timed out

  enum class Released : std::uint8_t { done, lost, under_way };
  // under_way: the claim's release is to be started; once it is answered, drop_said has the answer.
  Released release(Hold& hold, const Moment& moment, Orders& orders);
  bool take_settled(Waiter& waiter) noexcept;  // true: it was settled, and now needs no waking
  bool can_downgrade(const Hold& hold, std::uint32_t weight) const noexcept;
  void drop_again(Claim& claim) noexcept;  // at once, not at the debt's own pace
  void downgraded(Claim& claim, std::uint32_t weight, const Moment& moment, Orders& orders);
  void close(const Moment& moment, Orders& orders);

  // ── the store ──
  void answered(Claim& claim, const Answer& answer, const Moment& moment, Orders& orders);
  // Call it when the ordered renewal is sent. Several may be under way.
  Sent renewal_sent(Claim& claim, const Moment& moment) noexcept;
  // By then the lease that the renewal would give has ended.
  BootTime renewal_deadline(const Claim& claim, const Moment& moment) const noexcept;
  void renewed(Claim& claim, const Sent& sent, const Answer& answer, const Moment& moment,
               Orders& orders);
  void dropped(Claim& claim, const Answer& answer, const Moment& moment, Orders& orders);
  void granted(const ClaimId& id, const Answer& answer, const Moment& moment, Orders& orders);
  void look(const Moment& moment, Orders& orders);
  void gone(const ClaimId& id, const Moment& moment, Orders& orders);
  void in_doubt(Orders& orders) noexcept;  // no request could prove the session alive …
  void proven(Orders& orders) noexcept;    // … and now one has

  // ── time ──
  void tick(const Moment& moment, Orders& orders);
  BootTime next_tick() const noexcept;
  void doubt(Hold& hold, const Moment& moment);  // valid() saw a pause: renew now

  // ── what is to be done ──
  void collect(const Moment& moment, Orders& orders, const Collector& collector);
  // The claim whose ask this waiter should help: the front, if the waiter is first in line.
  Claim* to_help(const Waiter& waiter) const noexcept;
  // It is first in line here and its claim waits in the store's line, until a message comes.
  bool awaits_message(const Waiter& waiter) const noexcept;
  Claim* unattended() const noexcept;  // for the store thread: under way, and no caller helps it
  void attend(Claim& claim) noexcept { ++claim.helpers; }
  void unattend(Claim& claim) noexcept;
  // Claims that the store may have although nobody wants them; also the front if it becomes one.
  std::uint32_t debts() const noexcept { return debts_ + (front_ && !wanted(*front_) ? 1 : 0); }
  bool idle() const noexcept;  // nothing held, waiting, owed or under way

 protected:
  virtual Claim* make_claim() noexcept = 0;  // with its attempt; null: no memory
  virtual void end_claim(Claim* claim) noexcept = 0;
  // Nobody can ask this store for anything any more; only what is held and owed keeps it alive.
  virtual bool abandoned() const noexcept { return false; }

 private:
  // The line.
  void settle(Waiter& waiter) noexcept;  // granted
  void settle(Waiter& waiter, const Cause& cause,
              std::shared_ptr<const Holder> holder = {}) noexcept;
  // `trouble`: the last answer to its ask.
  void settle_timed_out(Waiter& waiter, BootTime now, const Problem* trouble = nullptr) noexcept;
  void refuse_triers(BootTime now) noexcept;
  void expire_waiters(const Moment& moment);
  bool enter_again(Waiter& waiter, const Moment& moment, Orders& orders);
  bool refuse_other_kind(Waiter& waiter) noexcept;
  std::shared_ptr<const Holder> local_holder() const noexcept;
  const Wish* present_wish() const noexcept;

  // The asks.
  void pump(const Moment& moment);
  void ask_for(Waiter& head, const Moment& moment);
  void name_orphan(Ask& ask) const noexcept;
  bool serves(const Claim& claim, const Waiter& waiter) const noexcept;
  bool wanted(const Claim& claim) const noexcept;  // the head of the line can use it
  Nanos delay(const Claim& claim, const Moment& moment) const noexcept;
  void pause(Claim& claim, Nanos delay, const Moment& moment);
  void stand_in_line(Claim& claim, const Answer& answer, const Moment& moment, Orders& orders);
  void refused(Claim& claim, const Answer& answer, const Moment& moment);
  void unanswered(Claim& claim, const Problem& problem, const Moment& moment) noexcept;
  void fail_served(Claim& claim, const Cause& cause) noexcept;
  bool silent() const noexcept { return news_ && news_->silent_since != never; }
  void note_silence(const Problem* problem, const Moment& moment) noexcept;
  void note_holder(const Answer& answer) noexcept;
  std::string_view about(const Wish& wish) const noexcept {
    return wish.about.empty() ? std::string_view(terms_.about) : wish.about;
  }
  void settle_replaced(const Claim& by);
  void withdraw_unwanted(const Moment& moment);
  void forget_front(const Moment& moment);  // withdraws it if the store may have it

  // What is held.
  void handed(Claim& claim, const Moment& moment, Orders& orders);
  void hold_from(Claim& claim, BootTime end, std::uint64_t number, Millis ttl, const Moment& moment,
                 Orders& orders);
  void serve(Claim& claim, const Moment& moment);
  bool give(Claim& claim, Waiter& waiter, const Moment& moment);
  bool joinable(const Claim& claim, const Waiter& waiter, const Moment& moment) const noexcept;
  bool can_hand_over(const Claim& claim, const Moment& moment) const noexcept;
  void let_go(Claim& claim, const Moment& moment);
  void owe(Claim& claim, bool doubtful, BootTime drop_at, const Moment& moment);
  void lose(Claim& claim, const char* reason, const Moment& moment, Orders& orders);
  void lose_hold(Hold& hold, const char* reason);
  void detach(Hold& hold) noexcept;
  Hold* held_by(const Entrant& owner) const noexcept;  // a lost one first, else the latest
  void end_holds(Claim& claim, const Moment& moment, Orders& orders);
  void tick_held(Claim& claim, const Moment& moment, Orders& orders);
  void set_until(Claim& claim);
  BootTime at_risk_from(const Claim& claim) const noexcept;
  void risk(Claim& claim, const char* reason, Orders& orders) const noexcept;
  BootTime counted_until(const Claim& claim) const noexcept;
  BootTime told_at(const Claim& claim, BootTime end) const noexcept;  // when lost() fires
  bool full() const noexcept;
  void order(Claim& claim, Claim::Order what) noexcept;
  void retire(Claim& claim) noexcept;
  void note(Orders& orders, Event::Kind kind, Token token, const char* reason) const noexcept;
  Claim* find_held(const ClaimId& id) const noexcept;

  // What the store last said about other holders, or why it says nothing.
  struct News {
    std::shared_ptr<const Holder> holder;
    Problem refusal;  // why it is busy, unless another simply holds it
    Problem trouble;
    BootTime silent_since = never;
  };

  const std::string name_;
  const Terms& terms_;
  List<Waiter, OfLine> line_;
  List<Waiter, OfLine> settled_;  // to be woken
  Claim* front_ = nullptr;        // asking, queued or pausing
  List<Claim, OfGate> held_;      // held, or lost and not yet released
  List<Claim, OfGate> owed_;
  List<Claim, OfOutbox> outbox_;
  List<Hold, OfMourned> mourned_;
  List<Hold, OfClaim> outlived_;   // the claim is released, but the owner still has the handle
  std::unique_ptr<News> news_;     // since the last grant
  BootTime look_at_line_ = never;  // at the latest the first deadline or end of patience in line
  std::uint32_t triers_ = 0;       // waiters in line_ with queue = false
  std::uint32_t releasing_ = 0;    // owed claims whose first release has no answer yet
  std::uint32_t debts_ = 0;        // length of owed_
  bool closed_ = false;
};

}  // namespace holdfast::core
