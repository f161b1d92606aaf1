#include "net/dial.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "net/trouble.hpp"

namespace holdfast::net {
namespace {

using namespace std::chrono_literals;

// A Unix socket with a full backlog refuses at once and leaves nothing to poll for.
constexpr auto unix_again_after = 10ms;

void set(int socket, int level, int option, int value) noexcept {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

void tune(int socket) noexcept {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  // Retransmit at a steady pace, because a pause that doubles each time would outlast a lease.
  set(socket, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);  // finds a dead peer of an idle connection in a minute
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

// Where nobody listens on a local port, the kernel may give our connection that very port as its
// own, and so connect the socket to itself: then everything we send would come back as the answer.
bool is_connected_to_itself(int socket) noexcept {
  sockaddr_storage own{}, other{};
  socklen_t own_size = sizeof own, other_size = sizeof other;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size);
  ::getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_size);
  return own.ss_family != AF_UNIX && own_size == other_size &&
         std::memcmp(&own, &other, own_size) == 0;
}

}  // namespace

Dial::Dial(const Place& place, BootTime until) : place_(place), until_(until) { find_addresses(); }

Dial::Dial(const Place& place, Addresses addresses, BootTime until)
    : place_(place), until_(until), addresses_(std::move(addresses)) {}

void Dial::find_addresses() {
  if (!place_.path.empty()) {
    addresses_.push_back(unix_address(place_.path));
    if (addresses_.back().size == 0) fail(cannot_connect(place_, ENAMETOOLONG));
    return;
  }
  if (look_up(place_, AI_NUMERICHOST, addresses_) == 0) return;
  Problem problem;
  lookup_ = Lookup::start(place_, problem);
  if (!lookup_) fail(std::move(problem));
}

int Dial::descriptor() const noexcept { return lookup_ ? lookup_->descriptor() : socket_.get(); }

short Dial::events() const noexcept { return lookup_ ? POLLIN : POLLOUT; }

BootTime Dial::next() const noexcept {
  if (state_ != State::trying) return BootTime::max();
  return lookup_ ? until_ : std::min(try_until_, until_);
}

Dial::State Dial::step(BootTime now) {
  if (state_ == State::trying && lookup_ && lookup_->done()) {
    addresses_ = lookup_->addresses();
    if (addresses_.empty()) fail(lookup_->problem());
    lookup_.reset();
  }
  if (state_ == State::trying && socket_) look_whether_connected(now);
  while (state_ == State::trying && !lookup_ && !socket_ && now >= try_until_) connect(now);
  if (state_ == State::trying && now >= until_)
    fail(cannot_connect(place_,
                        lookup_ ? "its name was not resolved in time" : words_of(ETIMEDOUT)));
  return state_;
}

void Dial::connect(BootTime now) {
  const Address& address = addresses_[tried_];
  const bool is_unix = address.family() == AF_UNIX;
  socket_ =
      stores::Descriptor(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_) return missed(errno);
  if (!is_unix) tune(socket_.get());

  if (::connect(socket_.get(), address.get(), address.size) == 0) {
    look_whether_connected(now);
  } else if (errno == EINPROGRESS || errno == EINTR) {
    const auto left = static_cast<BootClock::rep>(addresses_.size() - tried_);
    try_until_ = now + std::max<BootClock::duration>(until_ - now, 0ns) / left;
  } else if (errno == EAGAIN && is_unix) {
    socket_ = {};
    try_until_ = now + unix_again_after;
  } else {
    missed(errno);
  }
}

void Dial::look_whether_connected(BootTime now) {
  pollfd polled{socket_.get(), POLLOUT, 0};
  if (::poll(&polled, 1, 0) > 0) {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0 && is_connected_to_itself(socket_.get())) error = ECONNREFUSED;
    if (error != 0) return missed(error);
    state_ = State::connected;
  } else if (now >= try_until_) {
    missed(ETIMEDOUT);
  }
}

// Gives this address up; the next one is tried at once.
void Dial::missed(int error) {
  socket_ = {};
  try_until_ = BootTime::min();
  if (++tried_ < addresses_.size()) return;
  std::string details;
  if (addresses_.size() > 1)
    details = " (" + to_string(addresses_.back()) + ", the last of " +
              std::to_string(addresses_.size()) + " addresses)";
  fail(cannot_connect(place_, error, details));
}

void Dial::fail(Problem problem) {
  state_ = State::failed;
  problem_ = std::move(problem);
  socket_ = {};
}

stores::Descriptor Dial::take() noexcept { return std::move(socket_); }

}  // namespace holdfast::net
