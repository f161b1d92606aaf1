// net/place.hpp: where a server listens.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::net {

struct Place {
  std::string host{};
  std::uint16_t port = 0;
  std::string path{};  // of a Unix socket; then there is no host

  friend bool operator==(const Place&, const Place&) = default;
};

// "host:port", "[::1]:port", or the path.
inline std::string to_string(const Place& place) {
  if (!place.path.empty()) return place.path;
  const bool bare_ipv6 = place.host.find(':') != std::string::npos;
  return (bare_ipv6 ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

}  // namespace holdfast::net
