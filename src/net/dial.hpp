// net/dial.hpp: one connection being made. Nothing here waits.
//
//   Dial dial(place, until);
//   while (dial.step(now) == Dial::State::trying)
//     poll dial.descriptor() for dial.events(), at the longest until dial.next();
//   socket = dial.take();
//
// A host may have several addresses; they are tried in turn, each for its share of the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "holdfast/backend.hpp"
#include "net/address.hpp"
#include "net/lookup.hpp"
#include "net/place.hpp"
#include "stores/common/descriptor.hpp"

namespace holdfast::net {

class Dial {
 public:
  enum class State : std::uint8_t { trying, connected, failed };

  Dial(const Place& place, BootTime until);
  // For a place whose addresses are known already.
  Dial(const Place& place, Addresses addresses, BootTime until);

  // These change with every step. The descriptor may be -1: then there is nothing to poll for.
  int descriptor() const noexcept;
  short events() const noexcept;
  BootTime next() const noexcept;  // call step() by then

  State step(BootTime now);
  stores::Descriptor take() noexcept;  // connected: the socket, which does not block
  const Problem& problem() const noexcept { return problem_; }  // failed

 private:
  void find_addresses();
  void connect(BootTime now);
  void look_whether_connected(BootTime now);
  void missed(int error);
  void fail(Problem problem);

  const Place place_;
  const BootTime until_;
  State state_ = State::trying;
  Problem problem_;
  std::shared_ptr<Lookup> lookup_;  // while the name is looked up
  Addresses addresses_;
  std::size_t tried_ = 0;
  stores::Descriptor socket_;  // of the address that is being tried
  BootTime try_until_ = BootTime::min();
};

}  // namespace holdfast::net
