#include "runtime/gate.hpp"

#include <new>
#include <utility>

#include "runtime/access.hpp"
#include "runtime/answered.hpp"
#include "runtime/callback_threads.hpp"
#include "runtime/shop.hpp"

namespace holdfast::detail {
namespace {

constexpr Millis retry_pause{10};  // before an unanswered release is sent again
constexpr Millis slice{50};        // how soon a caller inside help() notices that it was settled

// A backend may answer before its call returns. So that nothing recurses, a gate that is starting
// calls on this thread only takes the event in, and collects again when it has started all calls.
struct Starting {
  const LiveGate* gate;
  core::Orders* orders;
  Starting* outer;
};
thread_local Starting* starting = nullptr;

}  // namespace

// ── calls ───────────────────────────────────────────────────────────────────────────────────────

void LiveAttempt::begin(BootTime by) noexcept {
  deadline = by;
  finished_.store(false, std::memory_order_relaxed);
}

// A grant ends the attempt, and this object with it.
void LiveAttempt::done(Answer answer) noexcept {
  LiveClaim& asked = claim;
  delay = asked.gate.users_delay(answer, trial);
  asked.gate.step({}, [&](const core::Moment& moment, core::Orders& orders) {
    finished_.store(true, std::memory_order_release);
    asked.gate.answered(asked, answer, moment, orders);
  });
}

void LiveClaim::begin(BootTime by) noexcept {
  deadline = by;
  finished_.store(false, std::memory_order_relaxed);
}

void LiveClaim::done(std::span<Answer> answers) noexcept {
  Answer none;
  none.said = Said::no;
  const Answer& answer = answers.empty() ? none : answers[0];
  gate.step({}, [&](const core::Moment& moment, core::Orders& orders) {
    finished_.store(true, std::memory_order_release);
    gate.dropped(*this, answer, moment, orders);
  });
}

const Call& LiveClaim::call() const noexcept {
  if (state == State::owed || state == State::gone) return *this;
  return static_cast<const LiveAttempt&>(*attempt);
}

// ── the pattern ─────────────────────────────────────────────────────────────────────────────────

LiveGate::LiveGate(std::string name, std::shared_ptr<Shop> shop)
    : Gate(std::move(name), shop->terms), shop_(std::move(shop)) {}

LiveGate::~LiveGate() {
  disarm();
  shop_->forget(*this);
}

template <class Event>
void LiveGate::step(core::Collector collector, Event&& event) noexcept {
  for (Starting* frame = starting; frame; frame = frame->outer) {
    if (frame->gate != this) continue;
    const std::lock_guard guard(mutex_);
    event(moment_now(), *frame->orders);
    return;
  }
  core::Orders orders;
  std::shared_ptr<LiveGate> last;  // destroyed after everything else here
  for (bool first = true, again = true; again; first = false) {
    BootTime next;
    {
      const std::lock_guard guard(mutex_);
      if (first) last = self_;  // during an answer, nothing else may keep the gate alive
      const core::Moment moment = moment_now();
      if (first) event(moment, orders);
      collect(moment, orders, collector);
      for (std::size_t i = 0; i < orders.starts; ++i) begin(orders.start[i]);
      if (claims_ > 0 && !self_) self_ = shared_from_this();
      if (claims_ == 0 && self_) last = std::move(self_);
      if (const std::uint32_t owed = debts(); owed != debts_told_) {
        shop_->count_debts(static_cast<std::int64_t>(owed) - debts_told_);
        debts_told_ = owed;
      }
      next = next_tick();
    }
    if (next != core::never) arm(next);
    const bool full = orders.wakes + 1 >= core::Orders::room || orders.losses == core::Orders::room;
    again = perform(orders) || full;
    orders.clear();
  }
}

void LiveGate::begin(const core::Orders::Start& order) noexcept {
  auto& claim = static_cast<LiveClaim&>(*order.claim);
  if (order.what == core::Claim::Order::ask)
    static_cast<LiveAttempt&>(*claim.attempt).begin(claim.answer_by);
  if (order.what == core::Claim::Order::drop) claim.begin(claim.answer_by);
}

// True if there may be more orders.
bool LiveGate::perform(core::Orders& orders) noexcept {
  if (orders.starts > 0) {
    Starting frame{this, &orders, starting};
    starting = &frame;
    for (std::size_t i = 0; i < orders.starts; ++i) start(orders.start[i]);
    starting = frame.outer;
  }
  for (std::size_t i = 0; i < orders.wakes; ++i) {
    const core::Wakeup& wakeup = orders.wake[i];
    if (wakeup.thread) {
      static_cast<Parker*>(wakeup.continuation)->unpark();
    } else {
      shop_->resume(*static_cast<AsyncWaiter*>(wakeup.continuation));
    }
  }
  for (std::size_t i = 0; i < orders.losses; ++i)
    LossThreads::shared().lost(std::move(orders.loss[i]));
  for (std::size_t i = 0; i < orders.notes; ++i) {
    const auto& note = orders.note[i];
    shop_->tell(note.kind, name(), note.token, core::never, note.reason);
  }
  if (orders.notes_dropped > 0) shop_->counts.events_dropped += orders.notes_dropped;
  if (orders.hand) shop_->hand->visit(shared_from_this());
  return orders.starts > 0;
}

void LiveGate::start(const core::Orders::Start& order) noexcept {
  auto& claim = static_cast<LiveClaim&>(*order.claim);
  Backend& backend = shop_->hand->backend();
  switch (order.what) {
    case core::Claim::Order::none: break;
    case core::Claim::Order::ask:
      shop_->counts.asks.fetch_add(1, std::memory_order_relaxed);
      backend.ask(claim.attempt->ask, static_cast<LiveAttempt&>(*claim.attempt));
      break;
    case core::Claim::Order::renew: shop_->hand->renew(claim); break;
    case core::Claim::Order::drop:
      shop_->counts.drops.fetch_add(1, std::memory_order_relaxed);
      backend.release({&claim.drop, 1}, claim);
      break;
  }
}

core::Claim* LiveGate::make_claim() noexcept {
  std::unique_ptr<LiveClaim> claim(new (std::nothrow) LiveClaim(*this));
  if (claim) claim->attempt.reset(new (std::nothrow) LiveAttempt(*claim));
  if (!claim || !claim->attempt) return nullptr;
  ++claims_;
  return claim.release();
}

void LiveGate::end_claim(core::Claim* claim) noexcept {
  --claims_;
  delete static_cast<LiveClaim*>(claim);
}

// ── callers ─────────────────────────────────────────────────────────────────────────────────────

void LiveGate::wait(core::Waiter& waiter) noexcept {
  const bool immediate = terms().traits.immediate;
  step({.self = &waiter},
       [&](const auto& moment, auto& orders) { arrive(waiter, moment, orders); });
  while (!waiter.delivered.load(std::memory_order_acquire)) {
    LiveClaim* helped = nullptr;
    const Call* call = nullptr;
    bool reads = false;
    const BootTime now = BootClock::now();
    if (!immediate || now >= waiter.deadline) {
      step({.self = &waiter}, [&](const auto& moment, auto& orders) {
        if (now >= waiter.deadline) leave(waiter, Errc::busy, moment, orders);
        helped = static_cast<LiveClaim*>(to_help(waiter));
        reads = awaits_message(waiter);
        if (!helped) return;
        attend(*helped);
        call = &helped->call();
      });
    }
    if (helped) {
      shop_->hand->backend().help(call, std::min(waiter.deadline, now + slice), -1);
      stand_down(*helped);
    } else if (waiter.delivered.load(std::memory_order_acquire)) {
      return;
    } else if (reads) {
      shop_->hand->read_messages(Parker::mine(), waiter.deadline);
    } else {
      Parker::mine().park(waiter.deadline);
    }
  }
}

bool LiveGate::arrive_async(AsyncWaiter& waiter) noexcept {
  bool settled = false;
  step({}, [&](const auto& moment, auto& orders) {
    arrive(waiter, moment, orders);
    settled = take_settled(waiter);
  });
  return settled;
}

void LiveGate::cancel(core::Waiter& waiter) noexcept {
  const auto alive = shared_from_this();  // the waiter may own the last reference, and go at once
  step({},
       [&](const auto& moment, auto& orders) { leave(waiter, Errc::cancelled, moment, orders); });
}

Said LiveGate::give_back(Hold& hold, bool wait) noexcept {
  LiveClaim* claim = nullptr;
  Released released{};
  bool mourned = false;
  step({}, [&](const auto& moment, auto& orders) {
    auto* held = static_cast<LiveClaim*>(hold.claim);
    released = release(hold, moment, orders);
    mourned = released == Released::lost && hold.loss.stop_possible();
    if (released != Released::under_way || !wait) return;
    claim = held;
    attend(*claim);
  });
  if (mourned) LossThreads::shared().lost(hold.shared_from_this());
  if (!claim)
    return released == Released::done   ? Said::yes
           : released == Released::lost ? Said::gone
                                        : Said::unknown;

  return confirm(*claim);
}

// Helps a release until it is confirmed or the release deadline has come. If it gets no answer,
// sends it again; then `gone` means that the first release succeeded.
Said LiveGate::confirm(LiveClaim& claim) noexcept {
  const BootTime until = BootClock::now() + shop_->options.release_deadline;
  Said said = Said::unknown;
  for (bool again = false;; again = true) {
    while (!claim.finished() && BootClock::now() < until)
      shop_->hand->backend().help(&claim, until, -1);
    const bool late = BootClock::now() >= until;
    bool answered = false;
    step({}, [&](const auto&, auto&) {
      said = claim.dropping ? Said::unknown : claim.drop_said;
      answered = said == Said::yes || said == Said::gone;
      if (answered || late) return unattend(claim);
    });
    if (answered) return again ? Said::yes : said;
    if (late) return Said::unknown;
    Parker::mine().park(std::min(until, BootClock::now() + retry_pause));
    step({}, [&](const auto&, auto&) { drop_again(claim); });
  }
}

void LiveGate::stand_down(core::Claim& claim) noexcept {
  step({}, [&](const auto&, auto&) { unattend(claim); });
}

Result<void> LiveGate::downgrade(Hold& hold) {
  core::Claim* claim = nullptr;
  Keep keep;
  {
    const std::lock_guard guard(mutex_);
    if (!hold.valid(BootClock::now(), wall_ahead()))
      return Error(Errc::lost, "lost", name() + ": the lease had ended before");
    if (!can_downgrade(hold, 1))
      return Error(Errc::invalid, "not_writer", name() + ": only a write lease can be downgraded");
    claim = hold.claim;
    keep = {name(), claim->id, 1, claim->wish->ttl};
    attend(*claim);
  }
  Backend& backend = shop_->hand->backend();
  const BootTime deadline = BootClock::now() + core::answer_within(keep.ttl);
  const auto answer = Answered<std::span<Answer>, Keep, Answer>::from(
      *shop_->hand, deadline, keep, [&](const Keep& one, auto& call) {
        backend.renew({&one, 1}, call);
      });
  const Said said = answer ? answer->said : Said::unknown;
  step({}, [&](const auto& moment, auto& orders) {
    // Unknown counts as done, because a caller that asked for less must not act on more. The next
    // renewal repeats it.
    if (said == Said::yes || said == Said::unknown) downgraded(*claim, 1, moment, orders);
    if (said == Said::gone) Gate::gone(claim->id, moment, orders);
    unattend(*claim);
  });
  if (said == Said::yes) return {};
  if (said == Said::gone) return Error(Errc::lost, "gone", name() + ": the lease had ended before");
  if (said == Said::no) return shop_->error(answer->problem);
  return Error(Errc::unknown, "not_confirmed", name() + ": the downgrade is not confirmed yet");
}

std::stop_token LiveGate::lost(Hold& hold) {
  const std::lock_guard guard(mutex_);
  if (!hold.loss.stop_possible()) {
    hold.loss = std::stop_source();
    if (hold.state.load() == Hold::State::lost) hold.loss.request_stop();  // nobody listens yet
  }
  return hold.loss.get_token();
}

// Calls the user's next_delay with no mutex held, because user code may use the library.
std::optional<core::Nanos> LiveGate::users_delay(const Answer& answer,
                                                 std::uint32_t trial) const noexcept {
  const bool waits = answer.said == Said::queued || answer.said == Said::no;
  if (!waits || !shop_->options.next_delay) return std::nullopt;
  return terms().delay(trial, moment_now().entropy.draw());
}

void LiveGate::doubt(Hold& hold) noexcept {
  step({}, [&](const auto& moment, auto&) { core::Gate::doubt(hold, moment); });
}

void LiveGate::close() noexcept {
  step({}, [&](const auto& moment, auto& orders) { core::Gate::close(moment, orders); });
}

void LiveGate::keep_for_thread(Lease lease) {
  const std::lock_guard guard(mutex_);
  if (!by_thread_) by_thread_ = std::make_unique<std::vector<std::shared_ptr<Hold>>>();
  by_thread_->push_back(Access::hold(lease));
  Access::disarm(lease);
}

std::shared_ptr<Hold> LiveGate::take_from_thread() noexcept {
  const core::Entrant me = this_thread();
  const std::lock_guard guard(mutex_);
  if (!by_thread_) return nullptr;
  for (auto held = by_thread_->end(); held != by_thread_->begin();) {
    if ((*--held)->owner != me) continue;
    auto hold = std::move(*held);
    by_thread_->erase(held);
    return hold;
  }
  return nullptr;
}

// ── the store ───────────────────────────────────────────────────────────────────────────────────

void LiveGate::granted(const ClaimId& claim, const Answer& answer) noexcept {
  step({}, [&](const auto& moment, auto& orders) { Gate::granted(claim, answer, moment, orders); });
}
void LiveGate::look() noexcept {
  step({}, [&](const auto& moment, auto& orders) { Gate::look(moment, orders); });
}
void LiveGate::in_doubt() noexcept {
  step({}, [&](const auto&, auto& orders) { Gate::in_doubt(orders); });
}
void LiveGate::proven() noexcept {
  step({}, [&](const auto&, auto& orders) { Gate::proven(orders); });
}
void LiveGate::gone(const ClaimId& claim) noexcept {
  step({}, [&](const auto& moment, auto& orders) { Gate::gone(claim, moment, orders); });
}
void LiveGate::renewed(core::Claim& claim, const core::Sent& sent, const Answer& answer) noexcept {
  step({}, [&](const auto& moment, auto& orders) {
    Gate::renewed(claim, sent, answer, moment, orders);
  });
}

Keep LiveGate::keep(core::Claim& claim, core::Sent& sent, BootTime& deadline) noexcept {
  const std::lock_guard guard(mutex_);
  const core::Moment moment = moment_now();
  deadline = std::max(deadline, renewal_deadline(claim, moment));
  sent = renewal_sent(claim, moment);
  return {name(), claim.id, claim.weight, claim.wish->ttl};
}

// ── our threads ─────────────────────────────────────────────────────────────────────────────────

std::shared_ptr<Timer> LiveGate::stay() noexcept { return weak_from_this().lock(); }

void LiveGate::due(std::shared_ptr<Timer> self) noexcept {
  step({.starts = false}, [&](const auto& moment, auto& orders) { tick(moment, orders); });
  const auto hand = shop_->hand;
  hand->visit(std::static_pointer_cast<LiveGate>(std::move(self)));
}

LiveClaim* LiveGate::visit(const Call*& call) noexcept {
  step({}, [](const auto&, auto&) {});
  const std::lock_guard guard(mutex_);
  auto* claim = static_cast<LiveClaim*>(unattended());
  if (!claim) return nullptr;
  attend(*claim);
  call = &claim->call();
  return claim;
}

}  // namespace holdfast::detail
