// tests/support/zookeeper/veil.hpp: stands before a server, and hides from clients that it closed
// their connection. From then on pings are answered, and all else is refused: the session has
// expired. So does a server that lets a client in while the end of its session is on the way.
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
  // When it hides that the server closed, it first tells that this node was deleted.
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
