// tests/support/sockets.hpp: TCP between tests and servers, on the loopback interface alone.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "stores/common/descriptor.hpp"

namespace holdfast::support {

using stores::Descriptor;

// A port that nobody has at this moment, and that no other test gets before this process ends: a
// server that is down for a while finds it again. Outside the range from which the kernel serves,
// as is the port 10000 above it, where a cluster node talks to the others.
int free_port();

Descriptor connect_to(int port);  // throws std::system_error
void reset(Descriptor& socket);   // closed, and the other end sees ECONNRESET

// As recv(). Goes on after a stop of the process, which interrupts whoever waits at a socket that
// has a timeout.
ssize_t receive(const Descriptor& socket, char* bytes, std::size_t most);

class Listener {
 public:
  Listener();
  int port() const noexcept { return port_; }
  int descriptor() const noexcept { return socket_.get(); }
  Descriptor accept() const;  // nothing when the listener was closed
  void refuse() const;        // connections are refused, and the port stays ours
  void welcome() const;

 private:
  int port_ = 0;
  Descriptor socket_;
};

}  // namespace holdfast::support
