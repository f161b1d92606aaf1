// tests/support/reception.hpp: a server inside a test. It serves each guest on a thread of its own,
// then closes the connection.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "support/sockets.hpp"

namespace holdfast::support {

class Reception {
 public:
  // An exception ends the visit: the guest has left, or must leave.
  using Serve = std::function<void(Descriptor guest)>;

  explicit Reception(Serve serve);
  ~Reception();  // disconnects all guests and waits until they are gone
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(listener_.port()); }
  int port() const noexcept { return listener_.port(); }
  long guests() const;  // so far

 private:
  struct Guest;
  void listen();
  void receive(const Guest& guest) const;

  const Serve serve_;
  Listener listener_;
  mutable std::mutex mutex_;
  std::list<Guest> guests_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace holdfast::support
