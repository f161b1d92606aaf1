#include "support/zookeeper/veil.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "support/zookeeper/packets.hpp"

namespace holdfast::support {
namespace {

constexpr std::int32_t ping = -2, event = -1;  // instead of a request's number

std::int32_t number_of(const std::string& packet) {
  return JuteReader(packet).number<std::int32_t>();
}

}  // namespace

struct Veil::Guest {
  Descriptor client, server;
  std::deque<std::int32_t> asked{};  // requests without an answer
};

Veil::Veil(int server_port)
    : reception_([this, server_port](Descriptor guest) {
        serve({.client = std::move(guest), .server = connect_to(server_port)});
      }) {}

void Veil::serve(Guest guest) {
  send_packet(guest.server, receive_packet(guest.client));  // the handshake
  send_packet(guest.client, receive_packet(guest.server));
  for (bool hidden = false;;) {
    pollfd ends[] = {{guest.client.get(), POLLIN, 0},
                     {hidden ? -1 : guest.server.get(), POLLIN, 0}};
    poll(ends, std::size(ends), -1);
    if (ends[1].revents != 0 && !pass_answer(guest)) {
      hidden = true;
      tell_deleted(guest);
    }
    if (ends[0].revents != 0) {
      const auto packet = receive_packet(guest.client);
      guest.asked.push_back(number_of(packet));
      if (!hidden) send_packet(guest.server, packet);
    }
    if (!hidden) continue;
    for (const auto question : guest.asked) refuse(guest, question);
    guest.asked.clear();
  }
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

void Veil::tell_deleted(const std::string& path) {
  const std::lock_guard lock(mutex_);
  deleted_ = path;
}

void Veil::tell_deleted(const Guest& guest) {
  const std::lock_guard lock(mutex_);
  if (deleted_.empty()) return;
  const std::int64_t last_change = -1;
  const std::int32_t code = 0, deleted = 2, connected = 3;
  send_packet(guest.client, JuteWriter()
                                .number(event)
                                .number(last_change)
                                .number(code)
                                .number(deleted)
                                .number(connected)
                                .text(deleted_)
                                .bytes());
}

void Veil::refuse(Guest& guest, std::int32_t question) {
  const std::int64_t last_change = 0;
  const std::int32_t code = question == ping ? 0 : session_expired;
  send_packet(guest.client, JuteWriter().number(question).number(last_change).number(code).bytes());
  if (code != 0) ++refusals_;
}

}  // namespace holdfast::support
