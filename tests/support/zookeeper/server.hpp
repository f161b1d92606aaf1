// tests/support/zookeeper/server.hpp: a real server, on a free port and in its own folder.
//
//   ZooKeeperServer server;
//   auto store = open(server.url() + "?session=20s&tick=200ms").value();
//   EXPECT_EQ(server.watchers()[path].size(), 1);
//
// It ends with this object, or, if this process dies first, with the thread that started it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/process.hpp"
#include "support/zookeeper/client.hpp"

namespace holdfast::support {

// Its place in an ensemble.
struct ZooKeeperSeat {
  int id;
  int port;                          // for clients
  std::vector<std::string> servers;  // "server.1=127.0.0.1:QUORUM:ELECTION;127.0.0.1:PORT"
};

struct ZooKeeperOptions {
  Millis tick{200};                   // a session lasts at least two ticks and ends at a tick
  int sync_limit = 25;                // for how many ticks a cut-off follower still serves
  std::vector<std::string> config{};  // more lines of zoo.cfg
  std::vector<std::string> java{};    // "-Dzookeeper.forceSync=no"
  std::optional<ZooKeeperSeat> seat{};
};

class ZooKeeperServer {
 public:
  // Returns when it serves. With a seat it only launches, because it needs the others to serve.
  explicit ZooKeeperServer(ZooKeeperOptions options = {});

  int port() const noexcept { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "zookeeper://" + address(); }
  std::filesystem::path data() const { return folder_.path() / "data"; }
  std::string log() const;
  ZooKeeperClient client() const { return ZooKeeperClient(port_); }

  bool running() const noexcept { return process_ != nullptr; }
  bool serves() const;               // also false if somebody else has its port
  void kill() { process_.reset(); }  // SIGKILL
  void launch();                     // after kill(): does not wait
  void await() const;                // until it serves; throws if it ends first
  void start();                      // launch() and await()
  void restart();                    // with its data
  void stop() { process_->stop(); }  // SIGSTOP: the port is open, but nothing answers
  void resume() { process_->resume(); }

  // The four-letter words: "ruok", "srvr", "mntr", "dump", "cons", "wchs", "wchp", "conf". A server
  // that changes its state may answer and then forget to close the connection.
  std::string four_letter(const std::string& word, Millis silence = Millis(2000)) const;
  // A line of "mntr": "server_state", "packets_received", "watch_count", or
  // "sum_node_deleted_watch_count" (watches fired by a deletion). Empty if there is no such line.
  std::string monitor(const std::string& field) const;
  long count(const std::string& field) const { return std::stol(monitor(field)); }
  std::map<std::string, std::set<std::int64_t>> watchers() const;  // sessions, by path
  std::set<std::string> sessions() const;  // all live ones, if it runs alone or leads

 private:
  std::string path(const char* name) const { return folder_.path() / name; }
  void write_config() const;

  ZooKeeperOptions options_;
  TempFolder folder_;
  int port_ = 0;
  std::unique_ptr<Process> process_;
};

// Ends the session of the lock's holder in this folder, which is its first child.
void end_holder_of(const ZooKeeperServer& server, const std::string& folder);

}  // namespace holdfast::support
