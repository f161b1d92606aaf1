// tests/support/lossy_network.hpp: a network namespace whose loopback loses packets.
//
//   LossyNetwork network;               // what this thread starts and opens from here on is in it
//   if (!network.usable()) GTEST_SKIP() << network.why_not();
//   RedisServer server;
//   network.lose_three_of_ten();
//
// It has no name: the kernel removes it with the last process and socket in it, also when the test
// is killed. The thread returns to where it was with the end of this object.
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

  void lose_three_of_ten() const;  // by chance, either way, whatever is in them
  long lost() const;               // so far

 private:
  Descriptor outside_;
  std::string why_not_;
};

}  // namespace holdfast::support
