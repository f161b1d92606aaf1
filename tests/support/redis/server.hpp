// tests/support/redis/server.hpp: a real server, on a free port and in its own folder.
//
//   RedisServer server({.appendfsync = "always"});
//   auto store = open(server.url()).value();
//   server.restart();
//
// It ends with this object, or, if this process dies first, with the thread that started it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/process.hpp"
#include "support/redis/certificates.hpp"
#include "support/redis/client.hpp"

namespace holdfast::support {

struct RedisOptions {
  std::string password{};             // of the default user
  std::vector<std::string> users{};   // "alice on >secret ~* +@all"
  std::string appendfsync{};          // "always", "everysec": an append-only file; empty: none
  bool unix_socket = false;           // in addition to the port
  std::optional<Certificate> tls{};   // a second port, with TLS and this certificate
  bool client_certificate = false;    // requires clients of that port to show a certificate of ours
  std::vector<std::string> config{};  // more lines: "maxmemory 3mb", "enable-debug-command local"
  std::vector<std::string> environment{};
  std::string program = "redis-server";
};

class RedisServer {
 public:
  enum class Data : std::uint8_t { kept, gone };  // kept: only with an append-only file

  explicit RedisServer(RedisOptions options = {});

  int port() const noexcept { return port_; }
  int tls_port() const noexcept { return tls_port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "redis://" + address(); }
  std::string tls_url() const;   // with the authority as its ca
  std::string unix_url() const;  // redis+unix://PATH
  std::string log() const;
  RedisClient client() const { return RedisClient(port_, options_.password); }

  bool running() const noexcept { return process_ != nullptr; }
  void kill() { process_.reset(); }  // SIGKILL
  void start();                      // after kill(), or after SHUTDOWN
  void restart(Data data = Data::kept);
  void stop() { process_->stop(); }  // SIGSTOP: the port is open, but nothing answers
  void resume() { process_->resume(); }

 private:
  enum class Start : std::uint8_t { answers, port_taken };

  std::string path(const char* name) const { return folder_.path() / name; }
  void write_config() const;
  Start try_start();
  bool answers() const;

  RedisOptions options_;
  TempFolder folder_;
  int port_ = 0;
  int tls_port_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace holdfast::support
