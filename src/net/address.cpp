#include "net/address.hpp"

#include <netinet/in.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <memory>

namespace holdfast::net {

std::string to_string(const Address& address) {
  if (address.family() == AF_UNIX) return "its socket";
  char text[NI_MAXHOST] = "";
  ::getnameinfo(address.get(), address.size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

Address unix_address(const std::string& path) {
  Address address;
  sockaddr_un name{};
  if (path.size() >= sizeof name.sun_path) return address;
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, path.size());
  std::memcpy(&address.bytes, &name, sizeof name);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

int look_up(const Place& place, int flags, Addresses& found) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* first = nullptr;
  const int error =
      ::getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &hints, &first);
  if (error != 0) return error;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, &::freeaddrinfo);
  for (const addrinfo* each = first; each; each = each->ai_next) {
    Address& address = found.emplace_back();
    std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
  }
  return 0;
}

}  // namespace holdfast::net
