#include "stores/common/blocking.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/forks.hpp"
#include "stores/common/clock.hpp"

namespace holdfast::stores {
namespace {

using namespace std::chrono_literals;

// Short enough to need no memory of their own.
Problem no_memory() { return {Errc::unavailable, "no_memory", "out of memory"}; }
Problem too_late() { return {Errc::unavailable, "too_slow", "out of time"}; }

// What a sleeping thread is woken by. A condition variable could not wait for `wake` as well.
class Bell {
 public:
  Bell() noexcept : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), epoch_(detail::fork_epoch()) {}
  ~Bell() {
    if (fd_ >= 0) close(fd_);
  }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  static Bell& of_this_thread() noexcept {
    thread_local Bell bell;
    // A forked child would share the counter with its parent, and take the parent's calls.
    if (bell.epoch_ != detail::fork_epoch() || bell.fd_ < 0) {
      if (bell.fd_ >= 0) close(bell.fd_);
      bell.fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
      bell.epoch_ = detail::fork_epoch();
    }
    return bell;
  }
  int fd() const noexcept { return fd_; }
  void ring() noexcept { eventfd_write(fd_, 1); }
  void hush() noexcept {
    eventfd_t rung = 0;
    eventfd_read(fd_, &rung);
  }

 private:
  int fd_;
  std::uint64_t epoch_;
};

}  // namespace

// Where a thread sleeps: in the list from construction to destruction, changed under the mutex
// only. A bell is rung under that mutex, unlike all other wake-ups here, because the sleeper may
// leave and close it as soon as it can have the mutex.
struct Blocking::Seat {
  Seat(Blocking& owner_, const Call* call_) noexcept
      : owner(owner_), call(call_), next(std::exchange(owner_.seats_, this)) {}
  void leave() noexcept {
    Seat** at = &owner.seats_;
    while (*at != this) at = &(*at)->next;
    *at = next;
    if (rung) bell.hush();
  }
  void ring() noexcept {
    if (!std::exchange(rung, true)) bell.ring();
  }
  // Sleeps; false if `wake` turned readable. Without a descriptor for its bell it looks often.
  bool sleep(BootTime until, int wake, int messages) const noexcept {
    pollfd polled[] = {{wake, POLLIN, 0}, {bell.fd(), POLLIN, 0}, {messages, POLLIN, 0}};
    if (bell.fd() < 0) until = std::min(until, BootClock::now() + 1ms);
    poll_until(polled, until);
    return polled[0].revents == 0;
  }

  Blocking& owner;
  const Call* call;  // null: stays for messages
  Seat* next;
  Bell& bell = Bell::of_this_thread();
  bool rung = false;
};

// ── starting ─────────────────────────────────────────────────────────────────────────────────────

template <class Question, class Reply, class Delivered>
void Blocking::start(Started<Question, Reply, Delivered> started) noexcept {
  auto* call = started.call;
  try {
    Request request{Request::Work(std::move(started))};
    std::lock_guard lock(mutex_);
    queued_.push_back(std::move(request));
    if (!busy_) ring_next();  // somebody may have come to stand behind it already
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
void Blocking::init(Pending<Answer>& call) noexcept { start(Started<Init, Answer>{{}, &call}); }
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

// False if there is nothing to do, or somebody else does it.
bool Blocking::work() noexcept {
  std::vector<Request> batch;
  {
    std::lock_guard lock(mutex_);
    if (busy_ || queued_.empty()) return false;
    busy_ = true;
    batch.swap(queued_);
  }
  const BootTime now = BootClock::now();
  const auto late = std::stable_partition(batch.begin(), batch.end(), [&](const Request& request) {
    return request.call().deadline > now;
  });
  for (auto at = late; at != batch.end(); ++at) at->refuse(Said::no, too_late());
  if (late != batch.begin()) run({batch.begin(), late});
  put_back(batch);
  deliver(batch);
  return true;
}

// Gives the client free; what the batch left unanswered goes to the front again.
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

// The client is free: one of those who sleep takes it if there is work.
void Blocking::ring_next() noexcept {
  if (queued_.empty()) return;
  for (Seat* seat = seats_; seat; seat = seat->next)
    if (seat->call && queued(*seat->call)) return seat->ring();
}

void Blocking::deliver(std::vector<Request>& batch) noexcept {
  for (Request& request : batch) {
    request.deliver();
    std::lock_guard lock(mutex_);
    for (Seat* seat = seats_; seat; seat = seat->next)
      if (seat->call && seat->call->finished()) seat->ring();
  }
}

bool Blocking::queued(const Call& call) const noexcept {
  return std::any_of(queued_.begin(), queued_.end(),
                     [&](const Request& request) { return &request.call() == &call; });
}

// Sleeps while another does the work. False if it is time to leave.
bool Blocking::sit(const Call& call, BootTime until, int wake) noexcept {
  std::unique_lock lock(mutex_);
  if (call.finished() || (!busy_ && !queued_.empty())) return true;
  const BootTime limit = queued(call) ? std::min(until, call.deadline) : until;
  Seat seat(*this, &call);
  lock.unlock();
  const bool awake = seat.sleep(limit, wake, -1);
  lock.lock();
  seat.leave();
  lock.unlock();
  answer_overdue();
  if (awake && !call.finished() && BootClock::now() < until) return true;
  // It may have been this one's turn to take the client.
  lock.lock();
  if (!busy_) ring_next();
  return false;
}

// A request that did not come to be run in its time was definitely not done. True if there was one.
bool Blocking::answer_overdue() noexcept {
  std::vector<Request> overdue;
  {
    const BootTime now = BootClock::now();
    const auto in_time = [&](const Request& request) { return request.call().deadline > now; };
    std::lock_guard lock(mutex_);
    if (std::all_of(queued_.begin(), queued_.end(), in_time)) return false;
    const auto late = std::stable_partition(queued_.begin(), queued_.end(), in_time);
    try {
      overdue.assign(std::make_move_iterator(late), std::make_move_iterator(queued_.end()));
    } catch (const std::bad_alloc&) {
      return false;  // whoever gets the client answers them
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
    Seat seat(*this, nullptr);
    BootTime limit = until;
    for (const Request& request : queued_) limit = std::min(limit, request.call().deadline);
    lock.unlock();

    // After taking the seat: what changes from here on rings.
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
  for (Seat* seat = seats_; seat; seat = seat->next)
    if (!seat->call) seat->ring();
}

}  // namespace holdfast::stores
