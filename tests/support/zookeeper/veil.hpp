// tests/support/zookeeper/veil.hpp: a proxy that does not tell clients when the server closes their
// connection. From then on it answers pings and refuses everything else: the session has expired. A
// real server does the same if it lets a client in while the client's session is ending.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "support/reception.hpp"

namespace holdfast::support {

class Veil {
 public:
  explicit Veil(int server_port);

  std::string address() const { return reception_.address(); }
  long refusals() const noexcept { return refusals_; }
  // Once the server has closed the connection, first tells the client that this node was deleted.
  void tell_deleted(const std::string& path);

 private:
  struct Guest;
  void serve(Guest guest);
  static bool pass_answer(Guest& guest);
  void tell_deleted(const Guest& guest);
  void refuse(Guest& guest, std::int32_t question);

  std::atomic<long> refusals_ = 0;
  std::mutex mutex_;
  std::string deleted_;
  Reception reception_;
};

}  // namespace holdfast::support
