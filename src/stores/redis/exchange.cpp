#include "stores/redis/exchange.hpp"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>

#include "stores/common/clock.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr Millis without_bell{10};  // if no descriptor is left for a bell: look again after this

void ring(int bell) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell, &one, sizeof one);
}

void silence(int bell) noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(bell, &count, sizeof count);
}

// If that thread has gone, this wakes nobody, or another thread for nothing.
void wake_sleeper(std::atomic<std::uint32_t>& signalled) noexcept {
  ::syscall(SYS_futex, &signalled, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace

struct Exchange::Helper : core::Link<OfExchange> {
  const Call* call;
  Role role;
  int wake;
  int bell = -1;  // polled beside `wake`; without `wake` the thread sleeps on `signalled`
  std::atomic<std::uint32_t> signalled{0};

  void signal() noexcept {
    if (signalled.exchange(1, std::memory_order_release) != 0) return;
    if (bell >= 0) {
      ring(bell);
    } else {
      wake_sleeper(signalled);
    }
  }

  // False if `wake` is readable.
  bool sleep(BootTime until) noexcept {
    if (wake >= 0) {
      if (bell < 0) until = std::min(until, BootClock::now() + without_bell);
      pollfd polled[] = {{wake, POLLIN, 0}, {bell, POLLIN, 0}};
      poll_until(polled, until);
      return polled[0].revents == 0;
    }
    const auto left = std::max(until - BootClock::now(), BootClock::duration(0));
    timespec limit{};
    limit.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
    ::syscall(SYS_futex, &signalled, FUTEX_WAIT_PRIVATE, 0, &limit, nullptr, 0);
    return true;
  }
};

bool Exchange::make() noexcept {
  for (Reading& reading : reading_) {
    if (!reading.kick) reading.kick = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!reading.kick) return false;
  }
  return true;
}

void Exchange::submit(Link& link, TaskPtr&& task, BootTime now) {
  unsent_ = true;
  if (link.submit(std::move(task), now)) changed();
}

std::size_t Exchange::connections() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(links_, &Link::ready));
}

void Exchange::changed() noexcept {
  for (Reading& reading : reading_)
    if (reading.taken && !std::exchange(reading.kicked, true)) ring(reading.kick.get());
}

void Exchange::help(const Call* call, BootTime until, int wake) noexcept try {
  const Role role = call ? commands : messages;
  Helper me;
  me.call = call;
  me.role = role;
  me.wake = wake;
  Lock lock(mutex_);
  for (;;) {
    const BootTime now = flush(lock);
    const bool delivered = deliver(lock);
    if (unsent_) flush(lock);  // an answer may have led to a new command, maybe of another thread
    if (call ? call->finished() : delivered) break;  // the caller looks at the messages
    if (now >= until) break;
    if (!(reading_[role].taken ? park(lock, me, until) : read(lock, role, until, wake))) break;
    if (call && call->finished()) break;  // another thread delivered it
  }
  deliver(lock);
  if (unsent_) flush(lock);
  pass_on(role);
} catch (const std::bad_alloc&) {
  // The next helper reads what is still unread; what is still unsent meets its deadline.
}

// Unlocks while it delivers, because an answer wakes other threads and may start another call.
bool Exchange::deliver(Lock& lock) noexcept {
  const bool any = !finished_.empty();
  while (!finished_.empty()) {
    TaskQueue batch = std::move(finished_);
    lock.unlock();
    while (TaskPtr task = batch.pop()) {
      Task& delivered = *task;
      delivered.deliver(std::move(task));
    }
    lock.lock();
    wake_finished(lock);
  }
  return any;
}

// A parked thread waits for its call, so the call still exists. Wakes them without the mutex,
// because it is the first thing that they lock.
void Exchange::wake_finished(Lock& lock) noexcept {
  std::array<std::atomic<std::uint32_t>*, 64> sleepers;
  std::size_t count = 0;
  for (Helper* helper = parked_.front(); helper; helper = parked_.next(*helper)) {
    if (!helper->call || !helper->call->finished()) continue;
    if (helper->bell >= 0 || count == sleepers.size()) {
      helper->signal();
    } else if (helper->signalled.exchange(1, std::memory_order_release) == 0) {
      sleepers[count++] = &helper->signalled;
    }
  }
  if (count == 0) return;
  lock.unlock();
  for (std::size_t i = 0; i < count; ++i) wake_sleeper(*sleepers[i]);
  lock.lock();
}

void Exchange::pass_on(Role role) noexcept {
  if (reading_[role].taken) return;
  for (Helper* helper = parked_.front(); helper; helper = parked_.next(*helper)) {
    if (helper->role != role) continue;
    if (helper->signalled.load(std::memory_order_relaxed) == 0) helper->signal();
    return;
  }
  if (role == commands && std::ranges::any_of(links_, &Link::unattended)) changed();
}

BootTime Exchange::flush(Lock& lock) {
  unsent_ = false;
  const BootTime now = BootClock::now();
  timed_->tick(now);
  for (std::size_t at = 0; at < links_.size(); ++at) {
    Link& link = *links_[at];
    link.tick(now);
    while (link.begin_send(now)) {
      lock.unlock();
      link.send();
      lock.lock();
      link.end_send();
    }
    link.relieve_late(now);
  }
  return now;
}

Descriptor Exchange::take_bell() noexcept {
  if (bells_.empty()) return Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Descriptor bell = std::move(bells_.back());
  bells_.pop_back();
  return bell;
}

bool Exchange::park(Lock& lock, Helper& me, BootTime until) {
  me.signalled.store(0, std::memory_order_relaxed);
  Descriptor bell = me.wake >= 0 ? take_bell() : Descriptor();
  me.bell = bell.get();
  parked_.push_back(me);
  lock.unlock();
  const bool unwoken = me.sleep(until);
  lock.lock();
  me.unlink();
  if (bell) {
    silence(me.bell);
    bells_.push_back(std::move(bell));
  }
  return unwoken;
}

bool Exchange::concerns(Role role, const Link& link) const noexcept {
  if (link.use() == Link::Use::sentinel) return true;
  if (link.dormant()) return false;
  if (role == commands) return link.use() != Link::Use::messages || !reading_[messages].taken;
  return link.use() == Link::Use::messages || (link.unattended() && !reading_[commands].taken);
}

// The only connection to read from, if this thread may block in it until its patience ends. That
// saves the poll, but meanwhile the thread does not notice a kick.
Link* Exchange::lone_link(Role role, BootTime until, int wake) const noexcept {
  if (role != commands || wake >= 0 || until - BootClock::now() < Link::patience / 2)
    return nullptr;
  Link* lone = nullptr;
  for (Link* link : links_) {
    if (!concerns(role, *link)) continue;
    if (lone || !link->connected() || link->events() != POLLIN) return nullptr;
    lone = link;
  }
  return lone;
}

bool Exchange::read(Lock& lock, Role role, BootTime until, int wake) {
  if (Link* lone = lone_link(role, std::min(until, timed_->next()), wake)) {
    read_from(lock, *lone);
    return true;
  }
  Reading& reading = reading_[role];
  reading.polled.assign({{reading.kick.get(), POLLIN, 0}, {wake, POLLIN, 0}});
  reading.links.clear();
  until = std::min(until, timed_->next());
  for (Link* link : links_) {
    if (!concerns(role, *link)) continue;
    until = std::min(until, link->next());
    if (link->descriptor() < 0) continue;
    reading.polled.push_back({link->descriptor(), link->events(), 0});
    reading.links.push_back({link, link->connected()});
  }
  reading.taken = true;
  for (const Polled& each : reading.links) ++each.link->polled;
  lock.unlock();

  poll_until(reading.polled, until);
  for (std::size_t i = 0; i < reading.links.size(); ++i) {
    Polled& each = reading.links[i];
    const bool readable = (reading.polled[i + 2].revents & ~POLLOUT) != 0;
    each.received = each.connected && readable && each.link->receive(false);
  }

  lock.lock();
  reading.taken = false;
  for (const Polled& each : reading.links) --each.link->polled;
  if (reading.polled[0].revents != 0) {
    silence(reading.kick.get());
    reading.kicked = false;
  }
  const bool unwoken = reading.polled[1].revents == 0;
  const BootTime now = BootClock::now();
  for (std::size_t i = 0; i < reading.links.size(); ++i) {
    const Polled& each = reading.links[i];
    if (reading.polled[i + 2].revents != 0)
      each.link->step(now, reading.polled[i + 2].revents, each.received);
  }
  return unwoken;
}

void Exchange::read_from(Lock& lock, Link& link) {
  reading_[commands].taken = true;
  ++link.polled;
  lock.unlock();
  const bool received = link.receive(true);
  lock.lock();
  reading_[commands].taken = false;
  --link.polled;
  link.step(BootClock::now(), 0, received);
}

}  // namespace holdfast::stores::redis
