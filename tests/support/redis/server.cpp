#include "support/redis/server.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace holdfast::support {
namespace {

constexpr auto config_file = "redis.conf";
constexpr auto log_file = "redis.log";
constexpr auto socket_file = "redis.sock";

// With HOLDFAST_TEST_REDIS=valkey the tests run on valkey-server and valkey-sentinel.
std::string chosen(const std::string& program) {
  const char* other = std::getenv("HOLDFAST_TEST_REDIS");
  return other ? other + program.substr(program.find('-')) : program;
}

}  // namespace

RedisServer::RedisServer(RedisOptions options) : options_(std::move(options)) {
  for (int tries = 0; tries < 20; ++tries) {
    port_ = free_port();
    if (options_.tls) tls_port_ = free_port();
    write_config();
    if (try_start() == Start::answers) return;
  }
  throw std::runtime_error(options_.program + " found no free port");
}

std::string RedisServer::tls_url() const {
  return "rediss://127.0.0.1:" + std::to_string(tls_port_) + "?ca=" + authority().file();
}

std::string RedisServer::unix_url() const { return "redis+unix://" + path(socket_file); }

std::string RedisServer::log() const { return text_of(path(log_file)); }

void RedisServer::start() {
  process_.reset();
  if (try_start() != Start::answers)
    throw std::runtime_error("port " + std::to_string(port_) +
                             " was taken while its server was down");
}

void RedisServer::restart(Data data) {
  kill();
  if (data == Data::gone) {
    std::filesystem::remove_all(path("appendonlydir"));  // Redis 7; older ones have one file.
    std::filesystem::remove(path("appendonly.aof"));
  }
  start();
}

// Written only once, because some servers write what they learn into it.
void RedisServer::write_config() const {
  std::ofstream out(path(config_file));
  out << "bind 127.0.0.1\nport " << port_ << "\ndir " << folder_.path().string() << "\nlogfile "
      << path(log_file) << "\nsave \"\"\n";
  if (!options_.appendfsync.empty())
    out << "appendonly yes\nappendfsync " << options_.appendfsync << '\n';
  if (options_.unix_socket) out << "unixsocket " << path(socket_file) << '\n';
  if (options_.tls) {
    out << "tls-port " << tls_port_ << "\ntls-cert-file " << options_.tls->file << "\ntls-key-file "
        << options_.tls->key << "\ntls-ca-cert-file " << authority().file() << "\ntls-auth-clients "
        << (options_.client_certificate ? "yes" : "no") << '\n';
  }
  if (!options_.password.empty()) out << "requirepass " << options_.password << '\n';
  for (const auto& user : options_.users) out << "user " << user << '\n';
  for (const auto& line : options_.config) out << line << '\n';
}

RedisServer::Start RedisServer::try_start() {
  const auto written = log().size();
  process_ = start_server({chosen(options_.program), path(config_file)}, path(log_file),
                          options_.environment);
  if (comes_up(*process_, [&] { return answers(); })) return Start::answers;
  process_.reset();
  const auto why = log().substr(written);
  if (why.find("Address already in use") != std::string::npos) return Start::port_taken;
  throw std::runtime_error(options_.program + " did not start: " + why);
}

// Compares pids, because another server may listen on this port.
bool RedisServer::answers() const try {
  auto redis = client();
  return redis.info("server", "process_id") == std::to_string(process_->pid()) &&
         redis.info("persistence", "loading") != "1";
} catch (const std::exception&) {
  return false;
}

}  // namespace holdfast::support
