#include "stores/common/seats.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/forks.hpp"
#include "stores/common/clock.hpp"

namespace holdfast::stores {

namespace {

constinit Bell mute{-1};

}  // namespace

Bell::Bell() noexcept : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), epoch_(detail::fork_epoch()) {}

Bell::~Bell() {
  if (fd_ >= 0) close(fd_);
}

std::shared_ptr<Bell> Bell::of_this_thread() noexcept {
  thread_local bool over = false;
  struct Own {
    ~Own() { over = true; }
    std::shared_ptr<Bell> bell;
  };
  thread_local Own own;
  // The main thread's thread_local objects end before static objects, which may still get here.
  if (over) return {std::shared_ptr<Bell>(), &mute};
  // A forked child would share the counter with its parent, and swallow the parent's rings.
  if (own.bell && own.bell->epoch_ == detail::fork_epoch() && own.bell->fd_ >= 0) return own.bell;
  own.bell.reset();
  try {
    own.bell = std::make_shared<Bell>();
  } catch (const std::bad_alloc&) {
    return {std::shared_ptr<Bell>(), &mute};
  }
  return own.bell;
}

void Bell::ring() noexcept { eventfd_write(fd_, 1); }

void Bell::hush() noexcept {
  eventfd_t rung = 0;
  eventfd_read(fd_, &rung);
}

void Seats::Seat::leave() noexcept {
  Seat** at = &seats_.first_;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
}

// A ring that was meant for this thread's previous seat wakes it for nothing. If its bell has no
// descriptor, the thread wakes every millisecond.
bool Seats::Seat::sleep(BootTime until, int wake, int messages) const noexcept {
  pollfd polled[] = {{wake, POLLIN, 0}, {bell_->fd(), POLLIN, 0}, {messages, POLLIN, 0}};
  if (bell_->fd() < 0) until = std::min(until, BootClock::now() + Millis(1));
  poll_until(polled, until);
  if (polled[1].revents != 0) bell_->hush();
  return polled[0].revents == 0;
}

}  // namespace holdfast::stores
