// tests/support/proxy.hpp: a TCP proxy between a client and a server, for what networks do.
//
//   Proxy proxy(server.port());
//   auto store = open("redis://" + proxy.address()).value();
//   proxy.cut(Way::replies, 3, "EVALSHA");  // The server did it; three bytes say so.
//
// Bytes are late or they are lost with their connection, as with TCP: none is left out in between.
// A call returns when it is in force.
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

// How the servers of a cluster talk to each other.
enum class Links : std::uint8_t { direct, proxied };

class Proxy {
 public:
  explicit Proxy(int server_port, Millis patience = Millis(0));  // if nobody listens there yet
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  int port() const noexcept { return listener_.port(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port()); }

  // Each stays until heal().
  void hold(Way way);  // what is under way stays here, and comes after all with heal()
  void hold();         // both ways: connections open, and then there is silence
  void hold_those(const std::string& text);  // both ways, if their first piece contains the text
  void hold_from(const std::string& text);   // both ways, from the next request that contains it on
  void release(Way way);                     // what hold(way) did, and nothing else
  void delay(Millis each);                   // of every piece, either way
  void trickle();                            // one byte at a time
  void refuse();                             // new connections; reset() ends the old ones
  // Once: a piece of requests that contains the text is waited for, the nth of them; so many bytes
  // of it, or of the replies that follow it on its connection, are passed on, then the connection
  // is reset. cut(Way::replies, 0) is done at the server, and nobody hears of it.
  void cut(Way way, std::size_t bytes, const std::string& text = {}, int nth = 1);
  void heal();

  // From now on in the first piece of every connection; for servers that tell their own address.
  void rewrite(const std::string& text, const std::string& other);

  void reset();  // all connections, now, with what is held

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
