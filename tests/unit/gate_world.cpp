#include "gate_world.hpp"

namespace holdfast::core::testing {

std::shared_ptr<Wish> exclusive(Millis ttl) {
  auto wish = std::make_shared<Wish>();
  wish->kind = Kind::rw;
  wish->capacity = wish->weight = 1 << 20;
  wish->ttl = ttl;
  wish->margin = default_margin(ttl);
  return wish;
}

std::shared_ptr<Wish> reading(Millis ttl) {
  auto wish = exclusive(ttl);
  wish->weight = 1;
  return wish;
}

World::World(std::uint64_t seed, std::uint32_t handovers) : dice(seed) {
  terms.traits.scheme = "world";
  terms.traits.handovers = handovers;
  terms.patience = Millis(30'000);
  terms.next_delay = decorrelated_jitter(Millis(5), Millis(250));
  terms.about = "a process";
}

void World::add_processes(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    processes_.push_back(std::make_unique<Process>(*this, terms, i));
}

bool World::run(Nanos limit) {
  const BootTime end = now_ + limit;
  while (!events_.empty()) {
    const auto first = events_.begin();
    if (first->first.first > end) {
      now_ = end;
      return false;
    }
    now_ = std::max(now_, first->first.first);
    const auto event = std::move(first->second);
    events_.erase(first);
    event();
  }
  return true;
}

void World::deliver(const Notices& notices) {
  for (const Notice& notice : notices) {
    if (dice.chance(faults.lost_messages)) continue;
    after(delay(), [this, notice, us = store_us()] {
      Process& process = *processes_[notice.party.place];
      if (!process.cut_off) process.told(notice, us);
    });
  }
}

Process::~Process() = default;
Claim* Process::make_claim() noexcept {
  auto& claim = claims_.emplace_back(std::make_unique<Claim>());
  claim->attempt = std::make_unique<Attempt>();
  return claim.get();
}
void Process::end_claim(Claim* claim) noexcept {
  std::erase_if(claims_, [&](const auto& one) { return one.get() == claim; });
}

Process::Client& Process::want(std::shared_ptr<const Wish> wish, Nanos wait,
                               std::function<void(Client&)> settled, Entrant owner) {
  clients_.push_back(std::make_unique<Client>());
  Client& client = *clients_.back();
  client.wish = std::move(wish);
  client.owner = owner;
  client.thread = false;
  client.continuation = &client;
  client.queue = wait > Nanos(0);
  client.deadline = client.queue ? world_.now() + wait : never;
  client.settled = std::move(settled);
  step([&](const Moment& moment, Orders& orders) { arrive(client, moment, orders); });
  return client;
}

void Process::wake_up() {
  step([this](const Moment& moment, Orders& orders) { tick(moment, orders); });
}

void Process::cancel(Client& client) {
  step([&](const Moment& moment, Orders& orders) {
    leave(client, Errc::cancelled, moment, orders);
  });
}

Gate::Released Process::give_back(Hold& hold) {
  Released released{};
  step([&](const Moment& moment, Orders& orders) { released = release(hold, moment, orders); });
  return released;
}

void Process::told(const Notice& notice, std::int64_t store_us) {
  step([&](const Moment& moment, Orders& orders) {
    if (notice.what == Notice::What::gone) return gone(notice.claim, moment, orders);
    Answer answer;
    answer.said = Said::yes;
    answer.number = notice.number;
    answer.ttl = notice.ttl;
    answer.store_us = store_us;
    granted(notice.claim, answer, moment, orders);
  });
}

void Process::start(Claim& claim, Claim::Order what) {
  const auto store = [this](auto&& operation) {
    return [this, operation] {
      Notices notices;
      Answer answer = operation(notices);
      answer.store_us = world_.store_us();
      world_.deliver(notices);
      return answer;
    };
  };
  if (what == Claim::Order::ask) {
    ++world_.asks;
    call(claim, store([this, ask = claim.attempt->ask](Notices& notices) {
           return world_.store.ask(ask, {place_, 0}, world_.store_us(), notices);
         }),
         [this, &claim](const Answer& answer) {
           step([&](const Moment& moment, Orders& orders) {
             this->answered(claim, answer, moment, orders);
           });
         });
  } else if (what == Claim::Order::drop) {
    ++world_.drops;
    call(claim, store([this, drop = claim.drop](Notices& notices) {
           return world_.store.release(drop, world_.store_us(), notices);
         }),
         [this, &claim](const Answer& answer) {
           step([&](const Moment& moment, Orders& orders) {
             dropped(claim, answer, moment, orders);
           });
         });
  } else {
    const Keep keep{"name", claim.id, claim.weight, claim.wish->ttl};
    claim.answer_by = renewal_deadline(claim, world_.moment());
    const Sent sent = renewal_sent(claim, world_.moment());
    call(claim, store([this, keep](Notices& notices) {
           return world_.store.renew(keep, world_.store_us(), notices);
         }),
         [this, &claim, sent](const Answer& answer) {
           step([&](const Moment& moment, Orders& orders) {
             renewed(claim, sent, answer, moment, orders);
           });
         });
  }
}

// A request may be lost or late (within the ttl, for which a withdrawal leaves its mark), a reply
// may be lost; at the deadline the outcome is unknown.
void Process::call(Claim& claim, std::function<Answer()> at_store,
                   std::function<void(const Answer&)> answered) {
  auto open = std::make_shared<bool>(true);
  const auto once = [open, answered = std::move(answered)](const Answer& answer) {
    if (std::exchange(*open, false)) answered(answer);
  };
  Answer unknown;
  unknown.said = Said::unknown;
  unknown.problem = {Errc::unavailable, "timeout", "no answer"};
  world_.at(claim.answer_by, [once, unknown] { once(unknown); });
  if (cut_off || world_.dice.chance(world_.faults.lost_requests)) return;
  const bool late = world_.dice.chance(world_.faults.late_requests);
  const Nanos travel = late ? Nanos(Millis(world_.dice.below(2500))) : world_.delay();
  world_.after(travel, [this, once, at_store = std::move(at_store)] {
    const Answer answer = at_store();
    if (world_.dice.chance(world_.faults.lost_replies)) return;
    world_.after(world_.delay(), [this, once, answer] {
      if (!cut_off) once(answer);
    });
  });
}

}  // namespace holdfast::core::testing
