#include "support/sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace holdfast::support {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

Descriptor new_socket() {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) fail("socket");
  return socket;
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

int random_port() {
  thread_local std::mt19937 random{std::random_device{}()};
  return std::uniform_int_distribution(10'000, 21'999)(random);
}

// While this socket is open, no other test gets that port. The kernel frees the name when the
// process ends. Empty if somebody has the port already.
Descriptor reserve(int port) {
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) fail("socket");
  const std::string name = "holdfast-test-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(name, address.sun_path + 1);  // behind a zero byte, so no file is made
  const auto length = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  const bool reserved = bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                             static_cast<socklen_t>(length)) == 0;
  return reserved ? std::move(socket) : Descriptor();
}

Descriptor bound_socket(int& port, Descriptor& reserved) {
  for (int tries = 0; tries < 1000; ++tries) {
    auto socket = new_socket();
    port = random_port();
    reserved = reserve(port);
    if (!reserved) continue;
    const auto address = loopback(port);
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return socket;
  }
  throw std::runtime_error("no free port was found");
}

void without_delay(const Descriptor& socket) {
  const int yes = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

}  // namespace

// Reserved until this process ends, so that a server that was down finds its port again.
int free_port() {
  static std::mutex mutex;
  static std::vector<Descriptor> given;
  const std::lock_guard lock(mutex);
  int port = 0;
  bound_socket(port, given.emplace_back());
  return port;
}

Descriptor connect_to(int port) {
  auto socket = new_socket();
  const auto address = loopback(port);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail("cannot connect to port " + std::to_string(port));
  without_delay(socket);
  return socket;
}

ssize_t receive(const Descriptor& socket, char* bytes, std::size_t most) {
  ssize_t count = 0;
  do count = recv(socket.get(), bytes, most, 0);
  while (count < 0 && errno == EINTR);
  return count;
}

void reset(Descriptor& socket) {
  const linger at_once{1, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  socket = Descriptor();
}

Listener::Listener() {
  Descriptor reserved;  // Needed only in here, because the socket itself takes the port.
  socket_ = bound_socket(port_, reserved);
  welcome();
}

Descriptor Listener::accept() const {
  Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket) without_delay(socket);
  return socket;
}

void Listener::refuse() const { shutdown(socket_.get(), SHUT_RDWR); }

void Listener::welcome() const {
  if (listen(socket_.get(), SOMAXCONN) != 0) fail("listen");
}

}  // namespace holdfast::support
