#include "support/zookeeper/veil.hpp"

#include <poll.h>

#include <algorithm>
#include <deque>

#include "support/zookeeper/packets.hpp"

namespace holdfast::support {
namespace {

constexpr std::int32_t ping = -2;  // in the place of a question's number

std::int32_t number_of(const std::string& packet) {
  return JuteReader(packet).number<std::int32_t>();
}

}  // namespace

struct Veil::Guest {
  Guest(Descriptor its_socket, int server_port)
      : client(std::move(its_socket)), server(connect_to(server_port)) {}
  Descriptor client, server;
  std::deque<std::int32_t> asked;  // questions without an answer
  std::thread thread;
};

Veil::Veil(int server_port) : server_port_(server_port), thread_([this] { listen(); }) {}

Veil::~Veil() {
  {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    listener_.refuse();
    for (const auto& guest : guests_) shutdown(guest.client.get(), SHUT_RDWR);
  }
  thread_.join();
  for (auto& guest : guests_) guest.thread.join();
}

void Veil::listen() {
  while (auto socket = listener_.accept()) {
    const std::lock_guard guard(mutex_);
    if (closed_) return;
    auto& guest = guests_.emplace_back(std::move(socket), server_port_);
    guest.thread = std::thread([this, &guest] { serve(guest); });
  }
}

void Veil::serve(Guest& guest) try {
  send_packet(guest.server, receive_packet(guest.client));  // who it is
  send_packet(guest.client, receive_packet(guest.server));
  for (bool hidden = false;;) {
    pollfd ends[] = {{guest.client.get(), POLLIN, 0},
                     {hidden ? -1 : guest.server.get(), POLLIN, 0}};
    poll(ends, std::size(ends), -1);
    if (ends[1].revents != 0 && !pass_answer(guest)) hidden = true;
    if (ends[0].revents != 0) {
      const auto packet = receive_packet(guest.client);
      guest.asked.push_back(number_of(packet));
      if (!hidden) send_packet(guest.server, packet);
    }
    if (!hidden) continue;
    for (const auto question : guest.asked) refuse(guest, question);
    guest.asked.clear();
  }
} catch (const std::runtime_error&) {
  shutdown(guest.client.get(), SHUT_RDWR);  // It has gone.
}

// False if the server has closed its connection.
bool Veil::pass_answer(Guest& guest) {
  char any = 0;
  if (recv(guest.server.get(), &any, 1, MSG_PEEK) <= 0) return false;
  const auto packet = receive_packet(guest.server);
  const auto answered = std::ranges::find(guest.asked, number_of(packet));
  if (answered != guest.asked.end()) guest.asked.erase(answered);
  send_packet(guest.client, packet);
  return true;
}

void Veil::refuse(Guest& guest, std::int32_t question) {
  const std::int64_t last_change = 0;
  const std::int32_t code = question == ping ? 0 : session_expired;
  send_packet(guest.client, JuteWriter().number(question).number(last_change).number(code).bytes());
  if (code != 0) ++refusals_;
}

}  // namespace holdfast::support
