#include "support/zookeeper/client.hpp"

#include <sys/time.h>

#include <algorithm>

#include "support/eventually.hpp"
#include "support/zookeeper/packets.hpp"

namespace holdfast::support {
namespace {

constexpr std::int32_t session_length = 60'000;
constexpr std::int32_t no_node = -101;
constexpr std::int32_t from_watch = -1;  // instead of a request's number
enum Operation : std::int32_t {
  close_session = -11,
  delete_node = 2,
  exists_node = 3,
  get_data = 4,
  set_data = 5,
  set_acl = 7,
  get_children = 8,
  sync_session = 9,
  create_node = 1,
  create_container = 19
};

// The server computes it from the id with java.util.Random, so anybody can end any session.
std::string password_of(std::int64_t session) {
  constexpr std::uint64_t mask = (1ULL << 48) - 1, factor = 0x5DEECE66D, secret = 0xB3415C00;
  auto seed = ((static_cast<std::uint64_t>(session) ^ secret) ^ factor) & mask;
  std::string bytes;
  for (int word = 0; word < 4; ++word) {
    seed = (seed * factor + 0xB) & mask;
    for (unsigned shift = 16; shift < 48; shift += 8)
      bytes.push_back(static_cast<char>(seed >> shift & 0xFF));
  }
  return bytes;
}

std::string rights_of_anybody(std::int32_t rights) {
  const std::int32_t entries = 1;
  return JuteWriter().number(entries).number(rights).text("world").text("anyone").bytes();
}

ZooKeeperStat read_stat(JuteReader& from) {
  ZooKeeperStat stat;
  for (auto* part : {&stat.czxid, &stat.mzxid, &stat.ctime, &stat.mtime})
    *part = from.number<std::int64_t>();
  for (auto* part : {&stat.version, &stat.cversion, &stat.aversion})
    *part = from.number<std::int32_t>();
  stat.ephemeral_owner = from.number<std::int64_t>();
  stat.data_length = from.number<std::int32_t>();
  stat.children = from.number<std::int32_t>();
  stat.pzxid = from.number<std::int64_t>();
  return stat;
}

}  // namespace

ZooKeeperClient::ZooKeeperClient(int port) : socket_(connect_to(port)) {
  connect(0, std::string(16, '\0'));
}

ZooKeeperClient::ZooKeeperClient(int port, std::int64_t session) : socket_(connect_to(port)) {
  connect(session, password_of(session));
}

ZooKeeperClient::~ZooKeeperClient() {
  try {
    if (socket_) close();
  } catch (const std::exception&) {
    return;  // The server is gone, or the session is.
  }
}

void ZooKeeperClient::connect(std::int64_t session, const std::string& password) {
  const timeval bound{std::chrono::floor<std::chrono::seconds>(patient).count(), 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  const std::int32_t version = 0;
  const std::int64_t last_seen = 0;
  const bool read_only = false;
  send_packet(socket_, JuteWriter()
                           .number(version)
                           .number(last_seen)
                           .number(session_length)
                           .number(session)
                           .text(password)
                           .number(read_only)
                           .bytes());
  JuteReader answer(receive_packet(socket_));
  answer.number<std::int32_t>();  // The version.
  if (answer.number<std::int32_t>() == 0) {
    socket_ = Descriptor();
    throw ZooKeeperError("connect", session_expired);
  }
  session_ = answer.number<std::int64_t>();
}

std::string ZooKeeperClient::create(const std::string& path, const std::string& data, Mode mode) {
  const std::int32_t all_rights = 31;
  JuteWriter body;
  body.text(path)
      .text(data)
      .raw(rights_of_anybody(all_rights))
      .number(static_cast<std::int32_t>(mode));
  return ask(mode == Mode::container ? create_container : create_node, body, "create " + path)
      .text();
}

std::string ZooKeeperClient::get(const std::string& path) {
  return ask(get_data, JuteWriter().text(path).number(false), "get " + path).text();
}

void ZooKeeperClient::set(const std::string& path, const std::string& data, std::int32_t version) {
  ask(set_data, JuteWriter().text(path).text(data).number(version), "set " + path);
}

void ZooKeeperClient::set_rights(const std::string& path, std::int32_t rights) {
  const std::int32_t any_version = -1;
  JuteWriter body;
  body.text(path).raw(rights_of_anybody(rights)).number(any_version);
  ask(set_acl, body, "set the rights of " + path);
}

void ZooKeeperClient::remove(const std::string& path, std::int32_t version) {
  ask(delete_node, JuteWriter().text(path).number(version), "remove " + path);
}

std::optional<ZooKeeperStat> ZooKeeperClient::exists(const std::string& path, bool watch) try {
  auto answer = ask(exists_node, JuteWriter().text(path).number(watch), "exists " + path);
  return read_stat(answer);
} catch (const ZooKeeperError& error) {
  if (error.code == no_node) return std::nullopt;
  throw;
}

std::vector<std::string> ZooKeeperClient::children(const std::string& path) try {
  auto answer = ask(get_children, JuteWriter().text(path).number(false), "children " + path);
  std::vector<std::string> names(static_cast<std::size_t>(answer.number<std::int32_t>()));
  for (auto& name : names) name = answer.text();
  std::ranges::sort(names);
  return names;
} catch (const ZooKeeperError& error) {
  if (error.code == no_node) return {};
  throw;
}

void ZooKeeperClient::sync() { ask(sync_session, JuteWriter().text("/"), "sync"); }

void ZooKeeperClient::close() {
  ask(close_session, {}, "close");
  socket_ = Descriptor();
}

JuteReader ZooKeeperClient::ask(std::int32_t operation, const JuteWriter& body,
                                const std::string& what) {
  send_packet(socket_, JuteWriter().number(++asked_).number(operation).raw(body.bytes()).bytes());
  JuteReader answer(receive_packet(socket_));
  auto answered = answer.number<std::int32_t>();
  while (answered == from_watch) {
    answer = JuteReader(receive_packet(socket_));
    answered = answer.number<std::int32_t>();
  }
  if (answered != asked_) throw std::runtime_error(what + ": another question was answered");
  answer.number<std::int64_t>();  // The server's last change.
  if (const auto code = answer.number<std::int32_t>(); code != 0) throw ZooKeeperError(what, code);
  return answer;
}

// The session's own client reconnects at once, and may be faster than this one.
void end_session(int port, std::int64_t session) {
  const bool ended = eventually([&] {
    try {
      ZooKeeperClient(port, session).close();
      return true;
    } catch (const ZooKeeperError& error) {
      return error.code == session_expired;
    } catch (const std::runtime_error&) {
      return false;
    }
  });
  if (!ended) throw std::runtime_error("the session does not end");
}

}  // namespace holdfast::support
