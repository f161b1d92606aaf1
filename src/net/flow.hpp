// net/flow.hpp: bytes through a connected socket. Waits only where it says so, never raises
// SIGPIPE.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast::net {

struct Flow {
  enum class End : std::uint8_t {
    open,         // sent: all of it. received: `bytes` came, there may be more
    would_block,  // the system takes, or has, no more than `bytes` now
    closed,       // by the other side; `error` is 0 if it did so in good order
    failed,       // `error` says why
  };
  std::size_t bytes = 0;
  End end = End::open;
  int error = 0;  // errno
};

Flow send_some(int socket, std::span<const char> bytes) noexcept;
Flow receive_some(int socket, std::span<char> room) noexcept;

// The same, but waits for the first byte, for as long as the socket's patience lasts.
void set_patience(int socket, std::chrono::milliseconds patience) noexcept;
Flow await_some(int socket, std::span<char> room) noexcept;

}  // namespace holdfast::net
