// tests/support/etcd/server.hpp: a real server, on free ports and in its own folder.
//
//   EtcdServer server;
//   auto store = open(server.url()).value();
//   server.ctl({"lease", "revoke", id});
//
// It ends with this object, or, if this process dies first, with the thread that started it.
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

// Its place in a cluster.
struct EtcdSeat {
  std::string name;
  int port, peer_port;
  std::string cluster;   // "etcd1=http://127.0.0.1:PORT,…": every member's peer_url
  std::string peer_url;  // its own
};

struct EtcdOptions {
  Millis heartbeat{20};
  Millis election{200};                  // a lease lasts at least 1.5 times this, in whole seconds
  std::string password{};                // of the user root; without it nothing is allowed
  std::optional<Certificate> tls{};      // for connections of clients
  bool client_certificate = false;       // requires clients to show a certificate of ours
  std::vector<std::string> arguments{};  // "--quota-backend-bytes=2097152"
  std::optional<EtcdSeat> seat{};
};

class EtcdServer {
 public:
  // Returns when it serves. With a seat it only launches, because it needs the others to serve.
  explicit EtcdServer(EtcdOptions options = {});

  int port() const noexcept { return seat_.port; }
  std::string address() const { return "127.0.0.1:" + std::to_string(seat_.port); }
  std::string url() const;  // with ca, user and password if it needs them
  std::filesystem::path data() const { return folder_.path() / "data"; }
  std::string log() const;

  bool running() const noexcept { return process_ != nullptr; }
  bool serves() const;               // with a majority; also false if another server has its port
  void kill();                       // SIGKILL
  void launch();                     // after kill(): does not wait
  void await() const;                // until it serves; throws if it ends first
  void start();                      // launch() and await()
  void restart();                    // with its data
  void stop() { process_->stop(); }  // SIGSTOP: the port is open, but nothing answers
  void resume() { process_->resume(); }

  // From its next write on it hangs on its disk; requests that write nothing go on.
  void stall_disk();
  void resume_disk() { stall_.reset(); }

  using Arguments = std::vector<std::string>;
  std::string ctl(const Arguments& arguments) const;  // what etcdctl prints; throws if it fails

  struct Status {
    std::uint64_t member = 0, leader = 0;  // 0: it knows none
    std::uint64_t term = 0;
    std::int64_t revision = 0;
  };
  Status status() const;
  // A streaming call such as "LeaseKeepAlive": streams begun, and requests received on them.
  struct Streams {
    long begun = 0, requests = 0;
  };
  Streams streams(const std::string& method) const;
  void clear() const { admin().clear(); }
  void end_holder(const std::string& name) const;  // revokes the lease of the lock's holder
  std::vector<std::string> left_of(const std::string& name) const;  // keys of the lock
  std::vector<std::int64_t> leases() const { return admin().leases(); }
  void end_first(const std::string& key_prefix) const;  // revokes the lease of the oldest key there

 private:
  std::string path(const char* name) const { return folder_.path() / name; }
  void choose_ports();
  void ask_for_password();
  EtcdAdmin admin() const { return EtcdAdmin(admin_port_); }
  std::string scheme() const { return options_.tls ? "https://" : "http://"; }

  EtcdOptions options_;
  TempFolder folder_;
  EtcdSeat seat_{};
  int admin_port_ = 0;  // plain HTTP, even if clients need TLS
  bool asks_for_password_ = false;
  std::unique_ptr<Process> process_;
  std::unique_ptr<Process> stall_;
};

}  // namespace holdfast::support
