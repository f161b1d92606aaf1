#include "net/flow.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>

namespace holdfast::net {
namespace {

Flow stopped(int error) noexcept {
  if (error == EAGAIN || error == EWOULDBLOCK) return {0, Flow::End::would_block, 0};
  if (error == EPIPE || error == ECONNRESET) return {0, Flow::End::closed, error};
  return {0, Flow::End::failed, error};
}

template <class Call>
ssize_t uninterrupted(Call call) noexcept {
  ssize_t moved = 0;
  do moved = call();
  while (moved < 0 && errno == EINTR);
  return moved;
}

Flow received(int socket, std::span<char> room, int flags) noexcept {
  if (room.empty()) return {0, Flow::End::would_block, 0};  // recv would return 0, as if closed
  const ssize_t came =
      uninterrupted([&] { return ::recv(socket, room.data(), room.size(), flags); });
  if (came < 0) return stopped(errno);
  if (came == 0) return {0, Flow::End::closed, 0};
  return {static_cast<std::size_t>(came), Flow::End::open, 0};
}

}  // namespace

Flow send_some(int socket, std::span<const char> bytes) noexcept {
  const ssize_t sent = uninterrupted(
      [&] { return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT); });
  if (sent < 0) return stopped(errno);
  const auto count = static_cast<std::size_t>(sent);
  return {count, count == bytes.size() ? Flow::End::open : Flow::End::would_block, 0};
}

Flow receive_some(int socket, std::span<char> room) noexcept {
  return received(socket, room, MSG_DONTWAIT);
}

void set_patience(int socket, std::chrono::milliseconds patience) noexcept {
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) & ~O_NONBLOCK);
  const timeval limit{patience.count() / 1000, patience.count() % 1000 * 1000};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

Flow await_some(int socket, std::span<char> room) noexcept { return received(socket, room, 0); }

}  // namespace holdfast::net
