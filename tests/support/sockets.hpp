// tests/support/sockets.hpp: TCP between tests and servers, on the loopback interface only.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "stores/common/descriptor.hpp"

namespace holdfast::support {

using stores::Descriptor;

// A port that is free now and that no other test gets before this process ends, so that a server
// that was down finds it again. It lies outside the range that the kernel hands out, and so does
// the port 10000 above it, which a cluster node uses to talk to the others.
int free_port();

Descriptor connect_to(int port);  // throws std::system_error
void reset(Descriptor& socket);   // closes it so that the other end sees ECONNRESET

// Like recv(), but goes on after SIGSTOP and SIGCONT, which interrupt a wait on a socket with a
// timeout.
ssize_t receive(const Descriptor& socket, char* bytes, std::size_t most);

class Listener {
 public:
  Listener();
  int port() const noexcept { return port_; }
  int descriptor() const noexcept { return socket_.get(); }
  Descriptor accept() const;  // empty if the listener was closed
  void refuse() const;        // refuses connections; the port stays ours
  void welcome() const;

 private:
  int port_ = 0;
  Descriptor socket_;
};

}  // namespace holdfast::support
