// tests/support/proxy.hpp: a TCP proxy between client and server that does what networks do.
//
//   Proxy proxy(server.port());
//   auto store = open("redis://" + proxy.address()).value();
//   proxy.cut(Way::replies, 3, "EVALSHA");  // Applied, but only 3 bytes of the reply arrive.
//
// As with TCP, bytes arrive late or are lost with their connection; none is missing in between. A
// call returns when it has taken effect.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "support/eventually.hpp"
#include "support/sockets.hpp"

namespace holdfast::support {

enum class Way : std::uint8_t { requests, replies };

// How the servers of a cluster connect to each other.
enum class Links : std::uint8_t { direct, proxied };

class Proxy {
 public:
  explicit Proxy(int server_port, Millis patience = Millis(0));  // for a server that is not up yet
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  int port() const noexcept { return listener_.port(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port()); }

  // Each lasts until heal().
  void hold(Way way);                        // bytes stay here, and arrive after heal()
  void hold();                               // both ways: connections open, then stay silent
  void hold_those(const std::string& text);  // both ways, if the first piece contains the text
  void hold_from(const std::string& text);   // both ways, from the next request with the text on
  void release(Way way);                     // undoes hold(way) and nothing else
  void delay(Millis each);                   // of every piece, both ways
  void trickle();                            // one byte at a time
  void refuse();                             // refuses new connections; reset() ends the old ones
  // Once, at the nth piece of requests that contains the text: passes on that many bytes of it, or
  // of the replies that follow on its connection, then resets the connection. With (Way::replies,
  // 0) the server has done the work, but the client hears nothing.
  void cut(Way way, std::size_t bytes, const std::string& text = {}, int nth = 1);
  void heal();

  // From now on, in the first piece of every connection: for servers that tell their own address.
  void rewrite(const std::string& text, const std::string& other);

  void reset();  // ends all connections now, and drops what is held

  struct Counts {
    long connections = 0;  // accepted so far
    long open = 0;
    long request_bytes = 0;  // passed on so far
    long reply_bytes = 0;
    long cuts = 0;
  };
  Counts counts();

 private:
  class Traffic;
  void inside(const std::function<void()>& change);  // runs it on the proxy's thread

  Listener listener_;
  std::unique_ptr<Traffic> traffic_;
  std::jthread thread_;
};

}  // namespace holdfast::support
