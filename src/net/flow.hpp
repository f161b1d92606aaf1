// net/flow.hpp: bytes through a connected socket. Only await_some() waits; nothing raises SIGPIPE.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast::net {

struct Flow {
  enum class End : std::uint8_t {
    open,         // sent: all of it; received: `bytes`, and there may be more
    would_block,  // the system takes, or has, no more than `bytes` now
    closed,       // by the other side; `error` is 0 if in good order
    failed,       // `error` says why
  };
  std::size_t bytes = 0;
  End end = End::open;
  int error = 0;  // errno
};

Flow send_some(int socket, std::span<const char> bytes) noexcept;
Flow receive_some(int socket, std::span<char> room) noexcept;

// await_some() is receive_some() that waits for the first byte, as long as set_patience() allows.
void set_patience(int socket, std::chrono::milliseconds patience) noexcept;
Flow await_some(int socket, std::span<char> room) noexcept;

}  // namespace holdfast::net
