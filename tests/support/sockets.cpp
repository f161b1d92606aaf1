#include "support/sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <mutex>
#include <random>
#include <stdexcept>
#include <system_error>

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

Descriptor bound_socket(int& port) {
  for (int tries = 0; tries < 1000; ++tries) {
    auto socket = new_socket();
    port = random_port();
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

// Servers that start together need different ones, and none of them is in use yet.
int free_port() {
  constexpr std::size_t remembered = 64;
  static std::mutex mutex;
  static std::deque<int> given;
  const std::lock_guard lock(mutex);
  int port = 0;
  do {
    bound_socket(port);
  } while (std::ranges::count(given, port) > 0);
  given.push_back(port);
  if (given.size() > remembered) given.pop_front();
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

Listener::Listener() : socket_(bound_socket(port_)) { welcome(); }

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
