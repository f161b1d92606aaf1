// tests/support/etcd/server.hpp: a real server, on free ports and in a folder of its own.
//
//   EtcdServer server;
//   auto store = open(server.url()).value();
//   server.ctl({"lease", "revoke", id});
//
// It ends with this object, and should this process die first, with the thread that started it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/etcd/admin.hpp"
#include "support/files.hpp"
#include "support/process.hpp"
#include "support/redis/certificates.hpp"

namespace holdfast::support {

// Its place among several.
struct EtcdSeat {
  std::string name;
  int port, peer_port;
  std::string cluster;   // "etcd1=http://127.0.0.1:PORT,…": where the others are looked for
  std::string peer_url;  // and this one
};

struct EtcdOptions {
  Millis heartbeat{20};
  Millis election{200};                  // a lease is of one and a half of it at least, in seconds
  std::string password{};                // of the user root, and nothing is allowed without it
  std::optional<Certificate> tls{};      // for its clients
  bool client_certificate = false;       // and one of ours asked of them
  std::vector<std::string> arguments{};  // "--quota-backend-bytes=2097152"
  std::optional<EtcdSeat> seat{};
};

class EtcdServer {
 public:
  // Returns when it serves; with a seat it is only launched, for it needs the others.
  explicit EtcdServer(EtcdOptions options = {});

  int port() const noexcept { return seat_.port; }
  std::string address() const { return "127.0.0.1:" + std::to_string(seat_.port); }
  std::string url() const;  // with the authority as its ca, or with user and password
  std::filesystem::path data() const { return folder_.path() / "data"; }
  std::string log() const;

  bool running() const noexcept { return process_ != nullptr; }
  bool serves() const;  // with a majority behind it; false as well when another has its port
  void kill();          // SIGKILL
  void launch();        // after kill(): without waiting
  void await() const;   // until it serves; throws if it ends before
  void start();         // both
  void restart();       // with its data
  void stop() { process_->stop(); }  // SIGSTOP: the port is open, and nobody answers
  void resume() { process_->resume(); }

  // From its next write on it waits for its disk, and what needs none goes on.
  void stall_disk();
  void resume_disk() { stall_.reset(); }

  using Arguments = std::vector<std::string>;
  std::string ctl(const Arguments& arguments) const;  // what etcdctl prints; throws if it fails

  struct Status {
    std::uint64_t member = 0, leader = 0;  // 0: it knows of none
    std::uint64_t term = 0;
    std::int64_t revision = 0;
  };
  Status status() const;
  // Of a call that goes on, as "LeaseKeepAlive": how many were begun, and what was said on them.
  struct Streams {
    long begun = 0, requests = 0;
  };
  Streams streams(const std::string& method) const;
  void clear() const { admin().clear(); }
  void end_holder(const std::string& name) const;  // of one of our locks: revokes its lease
  std::vector<std::string> left_of(const std::string& name) const;  // keys of one of our locks
  std::vector<std::int64_t> leases() const { return admin().leases(); }
  void end_first(const std::string& key_prefix) const;  // the lease of the oldest key there

 private:
  std::string path(const char* name) const { return folder_.path() / name; }
  void choose_ports();
  void ask_for_password();
  EtcdAdmin admin() const { return EtcdAdmin(admin_port_); }
  std::string scheme() const { return options_.tls ? "https://" : "http://"; }

  EtcdOptions options_;
  TempFolder folder_;
  EtcdSeat seat_{};
  int admin_port_ = 0;  // plain, also where clients need TLS
  bool asks_for_password_ = false;
  std::unique_ptr<Process> process_;
  std::unique_ptr<Process> stall_;
};

}  // namespace holdfast::support
