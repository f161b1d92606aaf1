#include "stores/common/blocking.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>

namespace holdfast::stores {
namespace {

// These strings are short enough to need no memory of their own.
Problem no_memory() { return {Errc::unavailable, "no_memory", "out of memory"}; }
Problem too_late() { return {Errc::unavailable, "too_slow", "out of time"}; }

}  // namespace

// ── starting ─────────────────────────────────────────────────────────────────────────────────────

template <class Question, class Reply, class Delivered>
void Blocking::start(Started<Question, Reply, Delivered> started) noexcept {
  auto* call = started.call;
  try {
    Request request{Request::Work(std::move(started))};
    std::lock_guard lock(mutex_);
    queued_.push_back(std::move(request));
    if (!busy_) ring_next();  // a thread may already wait for it in help()
    return;
  } catch (const std::bad_alloc&) {
  }
  if constexpr (std::is_same_v<Reply, Answers>) {
    call->done({});
  } else {
    Reply none{};
    if constexpr (requires { none.said; }) none.said = Said::no;
    none.problem = no_memory();
    call->done(std::move(none));
  }
}

void Blocking::ask(const Ask& ask, Pending<Answer>& call) noexcept {
  start(Started<Ask, Answer>{ask, &call});
}
void Blocking::renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept {
  start(Started<std::span<const Keep>, Answers, std::span<Answer>>{keeps, &call});
}
void Blocking::release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept {
  start(Started<std::span<const Drop>, Answers, std::span<Answer>>{drops, &call});
}
void Blocking::describe(std::string_view name, Pending<Listing>& call) noexcept {
  start(Started<Describe, Listing>{{name}, &call});
}
void Blocking::list(std::string_view prefix, Pending<Listing>& call) noexcept {
  start(Started<ListNames, Listing>{{prefix}, &call});
}
void Blocking::revoke(std::string_view name, bool now, Pending<Answer>& call) noexcept {
  start(Started<Revoke, Answer>{{name, now}, &call});
}
void Blocking::add(const Add& add, Pending<Cell>& call) noexcept {
  start(Started<Add, Cell>{add, &call});
}
void Blocking::swap(const Swap& swap, Pending<Cell>& call) noexcept {
  start(Started<Swap, Cell>{swap, &call});
}
void Blocking::get(std::string_view name, Pending<Cell>& call) noexcept {
  start(Started<Get, Cell>{{name}, &call});
}
void Blocking::guarantees(Pending<Promise>& call) noexcept {
  start(Started<StateGuarantees, Promise>{{}, &call});
}
void Blocking::init(Init, Pending<Answer>& call) noexcept {
  start(Started<CreateMissing, Answer>{{}, &call});
}
void Blocking::inspect(Pending<Inspection>& call) noexcept {
  start(Started<Inspect, Inspection>{{}, &call});
}

// ── helping ──────────────────────────────────────────────────────────────────────────────────────

void Blocking::help(const Call* call, BootTime until, int wake) noexcept {
  if (!call) return stay(until, wake);
  while (!call->finished()) {
    if (work() ? BootClock::now() >= until : !sit(*call, until, wake)) return;
  }
}

// False if there is nothing to do, or if another thread does it.
bool Blocking::work() noexcept {
  std::vector<Request> batch;
  {
    std::lock_guard lock(mutex_);
    if (busy_ || queued_.empty()) return false;
    busy_ = true;
    batch.swap(queued_);
  }
  const BootTime now = BootClock::now();
  const auto late = std::stable_partition(
      batch.begin(), batch.end(), [&](const Request& request) { return request.deadline() > now; });
  for (auto at = late; at != batch.end(); ++at) at->refuse(Said::no, too_late());
  if (late != batch.begin()) run({batch.begin(), late});
  put_back(batch);
  deliver(batch);
  return true;
}

// Frees the client. Requests that the batch left unanswered return to the front of the queue.
void Blocking::put_back(std::vector<Request>& batch) noexcept {
  const auto left = std::stable_partition(
      batch.begin(), batch.end(), [](const Request& request) { return request.answered(); });
  std::lock_guard lock(mutex_);
  try {
    queued_.insert(queued_.begin(), std::make_move_iterator(left),
                   std::make_move_iterator(batch.end()));
    batch.erase(left, batch.end());
  } catch (const std::bad_alloc&) {
    for (auto at = left; at != batch.end(); ++at) at->refuse(Said::no, no_memory());
  }
  busy_ = false;
  ring_next();
}

// Wakes one thread whose request is queued, because the client is free. Requires mutex_.
void Blocking::ring_next() noexcept {
  if (queued_.empty()) return;
  if (auto* next = seats_.find(
          [&](const auto& seat) { return seat.call() && queued(*seat.call()) != nullptr; }))
    next->ring();
}

void Blocking::deliver(std::vector<Request>& batch) noexcept {
  for (Request& request : batch) {
    request.deliver();
    std::lock_guard lock(mutex_);
    seats_.ring_finished();
  }
}

const Request* Blocking::queued(const Call& call) const noexcept {
  const auto found = std::find_if(queued_.begin(), queued_.end(),
                                  [&](const Request& request) { return &request.call() == &call; });
  return found == queued_.end() ? nullptr : &*found;
}

// Sleeps while another thread has the client. False if it is time to leave.
bool Blocking::sit(const Call& call, BootTime until, int wake) noexcept {
  std::unique_lock lock(mutex_);
  if (call.finished() || (!busy_ && !queued_.empty())) return true;
  const Request* const mine = queued(call);
  const BootTime limit = mine ? std::min(until, mine->deadline()) : until;
  Seats::Seat seat(seats_, &call);
  lock.unlock();
  const bool awake = seat.sleep(limit, wake);
  lock.lock();
  seat.leave();
  lock.unlock();
  answer_overdue();
  if (awake && !call.finished() && BootClock::now() < until) return true;
  // ring_next() may have chosen this thread, which leaves now: choose another.
  lock.lock();
  if (!busy_) ring_next();
  return false;
}

// A request that was not run before its deadline was definitely not done. True if there was one.
bool Blocking::answer_overdue() noexcept {
  std::vector<Request> overdue;
  {
    const BootTime now = BootClock::now();
    const auto in_time = [&](const Request& request) { return request.deadline() > now; };
    std::lock_guard lock(mutex_);
    if (std::all_of(queued_.begin(), queued_.end(), in_time)) return false;
    const auto late = std::stable_partition(queued_.begin(), queued_.end(), in_time);
    try {
      overdue.assign(std::make_move_iterator(late), std::make_move_iterator(queued_.end()));
    } catch (const std::bad_alloc&) {
      return false;  // the next thread that takes the client answers them
    }
    queued_.erase(late, queued_.end());
  }
  for (Request& request : overdue) request.refuse(Said::no, too_late());
  deliver(overdue);
  return true;
}

void Blocking::stay(BootTime until, int wake) noexcept {
  for (;;) {
    std::unique_lock lock(mutex_);
    Seats::Seat seat(seats_, nullptr);
    BootTime limit = until;
    for (const Request& request : queued_) limit = std::min(limit, request.deadline());
    lock.unlock();

    // Only after the seat is taken, so that any later change rings it.
    const Attended attended = attend();
    const bool leaves = attended.told || BootClock::now() >= until;
    const bool awake = !leaves && seat.sleep(std::min(limit, attended.again), wake, messages());

    lock.lock();
    seat.leave();
    lock.unlock();
    if (answer_overdue() || !awake) return;
  }
}

void Blocking::rouse() noexcept {
  std::lock_guard lock(mutex_);
  seats_.ring_all([](const auto& seat) { return !seat.call(); });
}

}  // namespace holdfast::stores
