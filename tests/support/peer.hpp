// tests/support/peer.hpp: another process on the same store, driven by lines of text (see
// conformance/peer/main.cpp).
//
//   Peer peer(world.url());
//   auto token = peer.acquire(name, "ttl=1000");
//   peer.kill();
#pragma once

#include <string>
#include <string_view>

#include "holdfast/result.hpp"
#include "support/process.hpp"

namespace holdfast::support {

class Peer : public Process {
 public:
  explicit Peer(const std::string& url, const std::vector<std::string>& environment = {});

  // options: "ttl=1000 wait=0 hold_at_most=500 lock_delay=100", in milliseconds; "read", "write",
  // or "permits=2/5" for the other kinds.
  void start_acquire(std::string_view name, std::string_view options = {});
  Token acquired();  // the answer; throws the Error that the acquire in the peer gave
  Token acquire(std::string_view name, std::string_view options = {}) {
    start_acquire(name, options);
    return acquired();
  }
};

}  // namespace holdfast::support
