// tests/faults/outlives.hpp: whether a lease outlives its ttl, by the clock of its holder.
#pragma once

#include <string>

#include "support/own_clock.hpp"
#include "support/peer.hpp"
#include "support/world.hpp"

namespace holdfast::support {

inline Millis lasts(World& world) {
  const Millis session = world.traits().session;
  return session > Millis(0) ? session : LockOptions().ttl;
}

// Moves the holder's clock ahead, again and again; each time a renewal, or a proof of its session,
// has to make up for it.
template <class Jump, class Left>
bool outlives(Jump&& jump, Left&& left, Millis ttl) {
  for (Millis passed{0}; passed <= ttl; passed += past_renewal) {
    jump();
    if (!eventually([&] { return left() > ttl * 2 / 3; })) return false;
  }
  return true;
}

// For a lease of this process, in which everything jumps together.
inline bool outlives_its_ttl(const Lease& lease, World& world) {
  return outlives([] { jump(past_renewal); }, [&] { return lease.left(); }, lasts(world));
}

inline Millis left(Peer& peer, const std::string& name) {
  return Millis(std::stol(peer.ask("left " + name)));
}
inline bool outlives_its_ttl(Peer& peer, const std::string& name, World& world) {
  return outlives([&] { peer.ask("jump " + std::to_string(past_renewal.count())); },
                  [&] { return left(peer, name); }, lasts(world));
}

}  // namespace holdfast::support
