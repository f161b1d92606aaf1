#include "stores/redis/router.hpp"

#include <algorithm>
#include <new>
#include <random>

#include "stores/redis/trouble.hpp"

namespace holdfast::stores::redis {

Millis a_while(Millis least, Millis most) {
  thread_local std::minstd_rand random(std::random_device{}());
  return Millis(std::uniform_int_distribution<Millis::rep>(least.count(), most.count())(random));
}

// ── tasks that rest ──────────────────────────────────────────────────────────────────────────────

bool Router::redirected(TaskPtr& task, Link&, const Reply& error, BootTime now) {
  switch (refusal_of(error)) {
    case Refusal::busy_script:
    case Refusal::loading:
    case Refusal::try_again: {
      const BootTime due = now + a_while(Millis(20), Millis(100));
      if (due >= task->deadline) return false;  // refuse it now: later, nobody listens
      rest(std::move(task), due, problem_of(error));
      return true;
    }
    default: return false;
  }
}

void Router::rest(TaskPtr task, BootTime due, Problem why, Make others) noexcept {
  try {
    resting_.emplace_back();
  } catch (const std::bad_alloc&) {
    return refuse(std::move(task), why);
  }
  next_ = std::min({next_, due, task->deadline});
  resting_.back() = {std::move(task), due, std::move(why), std::move(others)};
  routing_.exchange.changed();
}

void Router::tick(BootTime now) {
  if (now < next_) return;
  std::vector<Rest> rested = std::exchange(resting_, {});
  next_ = BootTime::max();
  for (Rest& each : rested) {
    if (each.task->deadline <= now) {
      refuse(std::move(each.task), each.why);
    } else if (each.due <= now) {
      go_on(each, now);
    } else {
      rest(std::move(each.task), each.due, std::move(each.why), std::move(each.others));
    }
  }
}

void Router::go_on(Rest& rest, BootTime now) noexcept try {
  if (!rest.others) {
    rest.task->put_off = std::make_unique<const Problem>(std::move(rest.why));
    return send(std::move(rest.task), now);
  }
  each([&] { return rest.task ? std::move(rest.task) : rest.others(); }, now);
} catch (const std::bad_alloc&) {
  if (rest.task) refuse(std::move(rest.task), {Errc::unavailable, "no_memory", {}});
}

void Router::wake(BootTime now) {
  for (Rest& each : resting_)
    if (each.due == until_woken) each.due = now;
  next_ = now;
  routing_.exchange.changed();
}

void Router::tell_resting(const Problem& why) {
  for (Rest& each : resting_)
    if (each.due == until_woken) each.why = why;
}

void Router::refuse_resting(const Problem& why) noexcept {
  for (Rest& each : std::exchange(resting_, {})) refuse(std::move(each.task), why);
  next_ = BootTime::max();
}

void Router::refuse(TaskPtr task, const Problem& why) noexcept {
  task->refuse(Said::no, why);
  routing_.exchange.finished(std::move(task));
}

void Router::ask(bool& under_way, Link& link, TaskPtr question, BootTime now) {
  under_way = true;
  try {
    routing_.exchange.submit(link, std::move(question), now);
  } catch (...) {
    under_way = false;
    throw;
  }
}

bool Router::followed_too_often(TaskPtr& task, const Reply& error) {
  if (++task->redirections <= most_redirections) return false;
  Problem why = problem_of(error);
  why.text = "sent from server to server " + std::to_string(most_redirections) +
             " times; the last said: " + why.text;
  refuse(std::move(task), why);
  return true;
}

// ── one server ───────────────────────────────────────────────────────────────────────────────────

Node::Node(const net::Place& place, const Routing& routing)
    : routing_(routing), commands_(place, Link::Use::commands, routing.options, routing.listener) {
  routing_.exchange.add(commands_);
}

void Node::send(TaskPtr&& task, BootTime now) {
  if (task->replicated && !acknowledged_) {
    auto link = std::make_unique<Link>(place(), Link::Use::acknowledged, routing_.options,
                                       routing_.listener);
    routing_.exchange.add(*link);
    acknowledged_ = std::move(link);
  }
  routing_.exchange.submit(task->replicated ? *acknowledged_ : commands_, std::move(task), now);
}

bool Node::idle() const noexcept {
  for (const Link* link = &commands_; link; link = link->relief())
    if (!link->idle()) return false;
  return !acknowledged_ || acknowledged_->idle();
}

bool Node::move_to(const net::Place& place) {
  if (!commands_.free() || (acknowledged_ && !acknowledged_->free())) return false;
  if (acknowledged_) acknowledged_->move_to(place);
  commands_.move_to(place);
  return true;
}

void Node::close(const Problem& why) noexcept {
  for (Link* link = &commands_; link; link = link->relief()) link->close(why);
  if (acknowledged_) acknowledged_->close(why);
}

}  // namespace holdfast::stores::redis
