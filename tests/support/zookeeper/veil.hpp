// tests/support/zookeeper/veil.hpp: stands before a server, and hides from clients that it closed
// their connection. From then on pings are answered, and all else is refused: the session has
// expired. So does a server that lets a client in while the end of its session is on the way.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "support/sockets.hpp"

namespace holdfast::support {

class Veil {
 public:
  explicit Veil(int server_port);
  ~Veil();
  Veil(const Veil&) = delete;
  Veil& operator=(const Veil&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(listener_.port()); }
  long refusals() const noexcept { return refusals_; }

 private:
  struct Guest;
  void listen();
  void serve(Guest& guest);
  static bool pass_answer(Guest& guest);
  void refuse(Guest& guest, std::int32_t question);

  const int server_port_;
  Listener listener_;
  std::atomic<long> refusals_ = 0;
  std::mutex mutex_;
  bool closed_ = false;
  std::list<Guest> guests_;
  std::thread thread_;
};

}  // namespace holdfast::support
