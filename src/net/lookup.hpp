// net/lookup.hpp: a name being looked up.
//
// The system's resolver blocks for as long as it likes, so each lookup has a short-lived thread. A
// caller that gives up just drops its reference, because the thread has its own and ends by itself.
#pragma once

#include <atomic>
#include <memory>

#include "holdfast/backend.hpp"
#include "net/address.hpp"
#include "net/place.hpp"
#include "stores/common/descriptor.hpp"

namespace holdfast::net {

class Lookup {
 public:
  // Null and a problem if the system has no descriptor or no thread to give.
  static std::shared_ptr<Lookup> start(const Place& place, Problem& problem);

  int descriptor() const noexcept { return bell_.get(); }  // turns readable when it is done
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }

  // Valid once done(). No addresses: the problem says why.
  const Addresses& addresses() const noexcept { return addresses_; }
  const Problem& problem() const noexcept { return problem_; }

 private:
  Lookup(const Place& place, stores::Descriptor bell);
  void run() noexcept;
  void look();

  const Place place_;
  const stores::Descriptor bell_;
  Addresses addresses_;
  Problem problem_;
  std::atomic<bool> done_{false};
};

}  // namespace holdfast::net
