#include "lab/client.hpp"

#include <utility>

#include "lab/gate_step.hpp"

namespace holdfast::lab {
namespace {

const char* word(Said said) {
  return said == Said::yes ? "yes" : said == Said::gone ? "gone" : "unknown";
}

const char* word(Errc errc) {
  switch (errc) {
    case Errc::busy: return "busy";
    case Errc::cancelled: return "cancelled";
    case Errc::lost: return "lost";
    case Errc::unavailable: return "unavailable";
    case Errc::invalid: return "invalid";
    default: return "other";
  }
}

}  // namespace

Client::Client(Shop& shop, std::uint64_t number)
    : shop_(shop),
      chance_(shop.scene().world.chance.fork()),
      number_(number),
      rounds_(shop.scene().plan.habit.rounds) {}

Client::~Client() = default;

void Client::begin() { think(); }

void Client::think() {
  if (rounds_-- == 0) return;
  const Nanos pause = chance_.up_to(shop_.scene().plan.habit.think);
  shop_.process().after(pause, [this] { ask(false); });
}

// ── asks ────────────────────────────────────────────────────────────────────────────────────────

void Client::ask(bool again) {
  Scene& scene = shop_.scene();
  const HabitPlan& habit = scene.plan.habit;
  if (!again) {
    asked_ = {};
    asked_.process = shop_.process().number();
    asked_.name = static_cast<std::uint16_t>(chance_.below(scene.plan.locks.size()));
    const LockPlan& lock = scene.plan.locks[asked_.name];
    asked_.capacity = asked_.weight = lock.capacity;
    if (lock.kind == Kind::semaphore)
      asked_.weight = static_cast<std::uint32_t>(1 + chance_.below(lock.capacity));
    if (lock.kind == Kind::rw && chance_.percent(habit.readers)) asked_.weight = 1;
    owns_ = chance_.percent(habit.reentries);
    asked_.owner = owns_ ? number_ : 0;
  }
  asked_.number = ++scene.last_op;
  const bool fair = !chance_.percent(habit.unfair);
  Event event = asked_.event(What::ask);
  event.flag = fair;
  scene.world.tell(event);

  LabGate& gate = shop_.gate(asked_.name);
  gate.waiting.push_back(asked_.number);
  caller_ = std::make_shared<Caller>(gate, [this] { settled(); });
  caller_->thread = habit.threads;
  caller_->owner = {asked_.owner, asked_.owner};
  caller_->wish = wish(asked_, fair);
  choose_wait();
  caller_->arrive();
}

std::shared_ptr<core::Wish> Client::wish(const Op& op, bool fair) {
  const LockPlan& lock = shop_.scene().plan.locks[op.name];
  auto wish = std::make_shared<core::Wish>();
  wish->kind = lock.kind;
  wish->capacity = lock.capacity;
  wish->weight = op.weight;
  wish->ttl = lock.ttl;
  wish->lock_delay = lock.lock_delay;
  wish->margin = core::default_margin(lock.ttl);
  wish->fair = fair;
  if (chance_.percent(shop_.scene().plan.habit.at_most))
    wish->hold_at_most = Millis(chance_.between(Millis(5), lock.ttl).count() / 1'000'000);
  return wish;
}

// Waits for ever, for some time, or not at all; the caller may also give up before.
void Client::choose_wait() {
  const HabitPlan& habit = shop_.scene().plan.habit;
  const Nanos ttl = shop_.scene().plan.locks[asked_.name].ttl;
  if (chance_.percent(habit.tries)) {
    caller_->queue = false;
  } else if (chance_.percent(habit.timeouts)) {
    caller_->deadline = shop_.process().boot() + chance_.up_to(2 * ttl);
  }
  if (!chance_.percent(habit.cancels)) return;
  const bool soon = chance_.percent(70);
  shop_.process().after(chance_.up_to(soon ? Nanos(Millis(5)) : ttl), [this, op = asked_.number] {
    if (!caller_ || asked_.number != op) return;
    shop_.scene().world.tell(asked_.event(What::cancel));
    caller_->cancel();
  });
}

void Client::settled() {
  Scene& scene = shop_.scene();
  const std::shared_ptr<Caller> caller = std::move(caller_);
  std::erase(shop_.gate(asked_.name).waiting, asked_.number);
  if (!caller->hold) {
    scene.world.tell(asked_.event(What::refused, word(caller->errc)));
    return held_.empty() ? think() : work();
  }
  const std::shared_ptr<core::Hold> hold = std::move(caller->hold);
  hold->loss = std::stop_source();  // this client listens to lost()
  held_.push_back({asked_, hold});
  scene.leases.begin(asked_, shop_.process(), hold, caller->claim());
  if (hold->state.load() == core::Hold::State::lost) scene.leases.lost(*hold);
  if (owns_ && held_.size() < 2 && chance_.percent(60)) return ask(true);
  work();
}

// ── work ────────────────────────────────────────────────────────────────────────────────────────

void Client::work() {
  const HabitPlan& habit = shop_.scene().plan.habit;
  const Nanos ttl = shop_.scene().plan.locks[asked_.name].ttl;
  steps_ = static_cast<unsigned>(1 + chance_.below(4));
  const bool longer = chance_.percent(habit.long_work);
  pace_ = chance_.up_to(longer ? ttl : habit.work);
  work_on();
}

// Checks valid(), and writes a moment later: the hazard is the time between the two.
void Client::work_on() {
  core::Hold& hold = *held_.back().hold;
  if (!valid(hold) || steps_-- == 0) return give_back();
  shop_.process().reach(Where::inside);
  shop_.later([this] {
    shop_.scene().resource.write(held_.back().op, held_.back().hold->token);
    shop_.process().after(pace_, [this] { work_on(); });
  });
}

bool Client::valid(core::Hold& hold) {
  Process& process = shop_.process();
  if (hold.valid(process.boot(), process.wall_ahead())) return true;
  if (hold.doubted(process.wall_ahead()))
    shop_.gate(asked_.name).step({}, [&](const core::Moment& moment, auto&) {
      shop_.gate(asked_.name).doubt(hold, moment);
    });
  return false;
}

// ── releases ────────────────────────────────────────────────────────────────────────────────────

void Client::give_back() {
  const Held held = std::move(held_.back());
  held_.pop_back();
  const Op op = held.op;
  LabGate& gate = shop_.gate(op.name);
  shop_.scene().world.tell(op.event(What::release));
  shop_.scene().leases.end(op.number);

  core::Claim* claim = nullptr;
  core::Gate::Released released{};
  const bool waits = shop_.scene().plan.habit.threads;
  gate.step({}, [&](const auto& moment, auto& orders) {
    core::Claim* of = held.hold->claim;
    released = gate.release(*held.hold, moment, orders);
    if (released != core::Gate::Released::under_way || !waits) return;
    claim = of;
    gate.attend(*claim);
  });
  if (claim) {
    return std::make_shared<Returning>(gate, *claim,
                                       [this, op](Said said) { given_back(op, word(said)); })
        ->begin();
  }
  const Said said = released == core::Gate::Released::done   ? Said::yes
                    : released == core::Gate::Released::lost ? Said::gone
                                                             : Said::unknown;
  given_back(op, word(said));
}

void Client::given_back(const Op& op, const char* said) {
  shop_.scene().world.tell(op.event(What::released, said));
  if (held_.empty()) return think();
  shop_.later([this] { give_back(); });
}

}  // namespace holdfast::lab
