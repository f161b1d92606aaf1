// tests/support/zookeeper/client.hpp: a small blocking client, to look into a server and to meddle.
// It speaks the protocol itself, so it shares no code with our store.
//
//   ZooKeeperClient zookeeper(server.port());
//   const auto stat = zookeeper.exists("/locks/name/child").value();
//   end_session(server.port(), stat.ephemeral_owner);
//
// It sends no pings: its session ends with it, or a minute after its last call.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/sockets.hpp"
#include "support/zookeeper/jute.hpp"

namespace holdfast::support {

struct ZooKeeperStat {
  std::int64_t czxid = 0, mzxid = 0;  // of the creation, of the last change
  std::int64_t ctime = 0, mtime = 0;  // the leader's clock, in ms
  std::int32_t version = 0, cversion = 0, aversion = 0;
  std::int64_t ephemeral_owner = 0;  // a session, or 0
  std::int32_t data_length = 0, children = 0;
  std::int64_t pzxid = 0;
};

struct ZooKeeperError : std::runtime_error {
  ZooKeeperError(const std::string& what, std::int32_t its_code)
      : std::runtime_error(what + " was answered with " + std::to_string(its_code)),
        code(its_code) {}
  std::int32_t code;  // -101: no node; -110: it exists; -112: the session has expired
};

class ZooKeeperClient {
 public:
  enum class Mode : std::int32_t {
    persistent = 0,
    ephemeral = 1,
    sequential = 2,
    ephemeral_sequential = 3,
    container = 4
  };

  explicit ZooKeeperClient(int port);
  ZooKeeperClient(int port, std::int64_t session);  // takes over an existing session
  ~ZooKeeperClient();                               // ends its session
  ZooKeeperClient(const ZooKeeperClient&) = delete;
  ZooKeeperClient& operator=(const ZooKeeperClient&) = delete;

  std::int64_t session() const noexcept { return session_; }

  // These throw a ZooKeeperError if the server refuses.
  std::string create(const std::string& path, const std::string& data = {},
                     Mode mode = Mode::persistent);  // returns the path that it got
  std::string get(const std::string& path);
  void set(const std::string& path, const std::string& data, std::int32_t version = -1);
  void remove(const std::string& path, std::int32_t version = -1);
  // What anybody may do with it: the sum of 1 (read), 2 (write), 4 (create), 8 (delete), 16 (this).
  void set_rights(const std::string& path, std::int32_t rights);
  // A watch is there for the server to count; the client ignores its events.
  std::optional<ZooKeeperStat> exists(const std::string& path, bool watch = false);
  std::vector<std::string> children(const std::string& path);  // sorted; empty if there is no node
  void sync();   // answered by the leader: later reads are at least as new
  void close();  // ends the session; returns when the server has done so

 private:
  void connect(std::int64_t session, const std::string& password);
  JuteReader ask(std::int32_t operation, const JuteWriter& body, const std::string& what);

  Descriptor socket_;
  std::int64_t session_ = 0;
  std::int32_t asked_ = 0;
};

// Ends any session as its client would; that client learns of it when it next asks.
void end_session(int port, std::int64_t session);

}  // namespace holdfast::support
