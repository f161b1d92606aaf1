#include "support/etcd/server.hpp"

#include <stdexcept>

#include "support/percent.hpp"
#include "support/port_taken.hpp"
#include "support/sockets.hpp"

namespace holdfast::support {
namespace {

constexpr auto log_file = "etcd.log";
constexpr auto stall_file = "strace.log";
constexpr auto answer_file = "etcdctl.out";

std::string loopback(int port) { return "127.0.0.1:" + std::to_string(port); }

std::string prefix_of(const std::string& name) {
  return "holdfast/1/locks/" + percent_encoded(name) + '/';
}

// The first number with that name in flat JSON; 0 if there is none.
std::uint64_t number_in(const std::string& json, const std::string& name) {
  const auto field = '"' + name + "\":";
  const auto at = json.find(field);
  return at == std::string::npos ? 0 : std::stoull(json.substr(at + field.size()));
}

}  // namespace

EtcdServer::EtcdServer(EtcdOptions options) : options_(std::move(options)) {
  if (options_.seat) {
    seat_ = *options_.seat;
    admin_port_ = free_port();
    launch();
    return;
  }
  on_free_ports([&] {
    choose_ports();
    start();
  });
  if (!options_.password.empty()) ask_for_password();
}

// A single server takes a name that no other server has.
void EtcdServer::choose_ports() {
  seat_.name = folder_.path().filename();
  seat_.port = free_port();
  seat_.peer_port = free_port();
  admin_port_ = free_port();
  seat_.peer_url = "http://" + loopback(seat_.peer_port);
  seat_.cluster = seat_.name + '=' + seat_.peer_url;
}

void EtcdServer::ask_for_password() {
  ctl({"user", "add", "root:" + options_.password});
  ctl({"auth", "enable"});
  asks_for_password_ = true;
}

std::string EtcdServer::url() const {
  const auto user = asks_for_password_ ? "root:" + options_.password + '@' : "";
  return options_.tls ? "etcds://" + user + address() + "?ca=" + authority().file()
                      : "etcd://" + user + address();
}

std::string EtcdServer::log() const { return text_of(path(log_file)); }

void EtcdServer::launch() {
  const auto millis = [](Millis time) { return std::to_string(time.count()); };
  const auto clients = scheme() + address();
  std::vector<std::string> command = {
      "etcd", "--name=" + seat_.name, "--data-dir=" + data().string(), "--logger=zap",
      // Even at this level it says why it ends.
      "--log-level=error", "--heartbeat-interval=" + millis(options_.heartbeat),
      "--election-timeout=" + millis(options_.election),
      "--listen-client-urls=" + clients + ",http://" + loopback(admin_port_),
      "--advertise-client-urls=" + clients,
      "--listen-peer-urls=http://" + loopback(seat_.peer_port),
      "--initial-advertise-peer-urls=" + seat_.peer_url, "--initial-cluster=" + seat_.cluster};
  if (options_.tls)
    command.insert(command.end(),
                   {"--cert-file=" + options_.tls->file, "--key-file=" + options_.tls->key});
  if (options_.client_certificate)
    command.insert(command.end(),
                   {"--client-cert-auth", "--trusted-ca-file=" + authority().file()});
  command.insert(command.end(), options_.arguments.begin(), options_.arguments.end());
  std::filesystem::remove(path(log_file));
  process_ = start_server(command, path(log_file));
}

void EtcdServer::await() const {
  if (comes_up(*process_, [&] { return serves(); })) return;
  throw_if_port_taken(log());
  throw std::runtime_error("etcd did not start: " + log());
}

void EtcdServer::start() {
  launch();
  await();
}

void EtcdServer::kill() {
  stall_.reset();
  process_.reset();
}

void EtcdServer::restart() {
  kill();
  start();
}

// Stalls only the write-ahead log, because with the other file stalled too, some runs got no answer
// at all. The delay is in microseconds and longer than any test.
void EtcdServer::stall_disk() {
  std::filesystem::remove(path(stall_file));
  std::vector<std::string> command = {
      "strace", "--follow-forks", "--attach=" + std::to_string(process_->pid()),
      "--trace=fdatasync", "--inject=fdatasync:delay_enter=600000000"};
  for (const auto& file : std::filesystem::directory_iterator(data() / "member" / "wal"))
    command.push_back("--trace-path=" + file.path().string());
  stall_ = start_server(command, path(stall_file));
  const auto said = [&](const char* words) {
    return text_of(path(stall_file)).find(words) != std::string::npos;
  };
  if (!eventually([&] { return said("attached") || stall_->wait(Millis(0)); }) || !said("attached"))
    throw std::runtime_error("strace does not work here: " + text_of(path(stall_file)));
}

std::string EtcdServer::ctl(const Arguments& arguments) const {
  // Its own timeouts, of 2 s and 5 s, are too short for a machine that stands still.
  std::vector<std::string> command = {"sh",
                                      "-c",
                                      R"(exec etcdctl "$@" >"$0" 2>&1)",
                                      path(answer_file),
                                      "--endpoints=" + scheme() + address(),
                                      "--dial-timeout=20s",
                                      "--command-timeout=20s"};
  if (asks_for_password_) command.push_back("--user=root:" + options_.password);
  if (options_.tls) command.push_back("--cacert=" + authority().file());
  if (options_.client_certificate) {
    command.push_back("--cert=" + options_.tls->file);
    command.push_back("--key=" + options_.tls->key);
  }
  command.insert(command.end(), arguments.begin(), arguments.end());
  const auto ended = Process(command, {"ETCDCTL_API=3"}).wait();
  auto answer = text_of(path(answer_file));
  if (ended != 0) throw std::runtime_error("etcdctl " + arguments.front() + " failed: " + answer);
  return answer;
}

bool EtcdServer::serves() const try {
  connect_to(port());  // If nobody listens there, etcdctl would keep trying for a while.
  constexpr auto soon = "--command-timeout=1s";
  if (ctl({"member", "list", soon}).find(seat_.name) == std::string::npos) return false;
  ctl({"get", "any", soon});  // Needs a majority.
  return true;
} catch (const std::exception&) {
  return false;
}

EtcdServer::Status EtcdServer::status() const {
  const auto json = ctl({"endpoint", "status", "--write-out=json"});
  return {number_in(json, "member_id"), number_in(json, "leader"), number_in(json, "raft_term"),
          static_cast<std::int64_t>(number_in(json, "revision"))};
}

EtcdServer::Streams EtcdServer::streams(const std::string& method) const {
  const auto of = "{grpc_method=\"" + method + '"';
  return {admin().figure("grpc_server_started_total" + of),
          admin().figure("grpc_server_msg_received_total" + of)};
}

// The oldest claim has the lock.
void EtcdServer::end_holder(const std::string& name) const { end_first(prefix_of(name)); }

std::vector<std::string> EtcdServer::left_of(const std::string& name) const {
  return admin().keys(prefix_of(name));
}

void EtcdServer::end_first(const std::string& key_prefix) const {
  const auto lease = admin().first_lease(key_prefix);
  if (lease == 0) throw std::runtime_error("nobody holds " + key_prefix);
  admin().revoke(lease);
}

}  // namespace holdfast::support
