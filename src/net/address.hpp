// net/address.hpp: addresses that the kernel can connect to.
#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "net/place.hpp"

namespace holdfast::net {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&bytes); }
  int family() const noexcept { return bytes.ss_family; }
};
using Addresses = std::vector<Address>;

std::string to_string(const Address& address);  // as a number: "127.0.0.1", without the port

Address unix_address(const std::string& path);  // its size is 0 if the path does not fit

// Fills in what getaddrinfo finds and returns its error. Does not block if `flags` has
// AI_NUMERICHOST.
int look_up(const Place& place, int flags, Addresses& found);

}  // namespace holdfast::net
