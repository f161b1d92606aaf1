// tests/support/zookeeper/packets.hpp: the packets of a connection to ZooKeeper, one text each.
#pragma once

#include <sys/socket.h>

#include <stdexcept>
#include <string>

#include "support/sockets.hpp"
#include "support/zookeeper/jute.hpp"

namespace holdfast::support {

constexpr std::int32_t session_expired = -112;

inline void send_packet(const Descriptor& socket, const std::string& bytes) {
  const auto packet = JuteWriter().text(bytes).bytes();
  if (send(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(packet.size()))
    throw std::runtime_error("the other side takes nothing any more");
}

inline std::string receive_packet(const Descriptor& socket) {
  const auto exactly = [&](std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t have = 0; have < size;) {
      const auto more = receive(socket, bytes.data() + have, size - have);
      if (more <= 0)
        throw std::runtime_error("the other side closed its connection, or said nothing");
      have += static_cast<std::size_t>(more);
    }
    return bytes;
  };
  return exactly(JuteReader(exactly(4)).number<std::uint32_t>());
}

}  // namespace holdfast::support
