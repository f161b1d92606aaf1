// tests/support/lossy_network.hpp: a network namespace whose loopback loses packets.
//
//   LossyNetwork network;               // holds what this thread starts and opens from here on
//   if (!network.usable()) GTEST_SKIP() << network.why_not();
//   RedisServer server;
//   network.lose_three_of_ten();
//
// It has no name, so the kernel removes it with the last process and socket in it, even if the test
// is killed. When this object ends, the thread returns to the namespace it came from.
#pragma once

#include <string>

#include "support/sockets.hpp"

namespace holdfast::support {

class LossyNetwork {
 public:
  LossyNetwork();
  ~LossyNetwork();
  LossyNetwork(const LossyNetwork&) = delete;
  LossyNetwork& operator=(const LossyNetwork&) = delete;

  bool usable() const noexcept { return why_not_.empty(); }
  const std::string& why_not() const noexcept { return why_not_; }

  void lose_three_of_ten() const;  // at random, both ways, whatever they carry
  long lost() const;               // so far

 private:
  Descriptor outside_;
  std::string why_not_;
};

}  // namespace holdfast::support
