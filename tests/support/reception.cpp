#include "support/reception.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <utility>

namespace holdfast::support {

struct Reception::Guest {
  explicit Guest(Descriptor its_socket) : socket(std::move(its_socket)) {}
  void send_away() const { shutdown(socket.get(), SHUT_RDWR); }
  Descriptor socket;
  std::thread thread;
};

Reception::Reception(Serve serve) : serve_(std::move(serve)), thread_([this] { listen(); }) {}

Reception::~Reception() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    listener_.refuse();
    for (const auto& guest : guests_) guest.send_away();
  }
  thread_.join();
  for (auto& guest : guests_) guest.thread.join();
}

void Reception::listen() {
  while (auto socket = listener_.accept()) {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    auto& guest = guests_.emplace_back(std::move(socket));
    guest.thread = std::thread([this, &guest] { receive(guest); });
  }
}

void Reception::receive(const Guest& guest) const {
  try {
    serve_(Descriptor(dup(guest.socket.get())));
  } catch (const std::exception&) {
  }
  guest.send_away();
}

long Reception::guests() const {
  const std::lock_guard lock(mutex_);
  return static_cast<long>(guests_.size());
}

}  // namespace holdfast::support
