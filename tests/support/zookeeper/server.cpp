#include "support/zookeeper/server.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <fstream>
#include <sstream>

#include "support/port_taken.hpp"
#include "support/sockets.hpp"

namespace holdfast::support {
namespace {

constexpr auto config_file = "zoo.cfg";
constexpr auto log_file = "zookeeper.log";

// The manifest of the first names the other jars.
constexpr auto class_path = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar";
constexpr auto main_class = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

}  // namespace

ZooKeeperServer::ZooKeeperServer(ZooKeeperOptions options) : options_(std::move(options)) {
  if (options_.seat) {
    port_ = options_.seat->port;
    write_config();
    launch();
    return;
  }
  on_free_ports([&] {
    port_ = free_port();
    write_config();
    start();
  });
}

void ZooKeeperServer::write_config() const {
  std::filesystem::create_directory(data());
  std::ofstream out(path(config_file));
  out << "dataDir=" << data().string() << "\ntickTime=" << options_.tick.count()
      << "\ninitLimit=15\nsyncLimit=" << options_.sync_limit
      << "\nmaxSessionTimeout=60000\nmaxClientCnxns=0\nadmin.enableServer=false"
         "\n4lw.commands.whitelist=*\nextendedTypesEnabled=true\n";
  if (options_.seat) {
    for (const auto& line : options_.seat->servers) out << line << '\n';
    std::ofstream(data() / "myid") << options_.seat->id << '\n';
  } else {
    out << "clientPortAddress=127.0.0.1\nclientPort=" << port_ << '\n';
  }
  for (const auto& line : options_.config) out << line << '\n';
}

// Only the first of its compilers, because this server lives for seconds.
void ZooKeeperServer::launch() {
  std::vector<std::string> command = {"java", "-cp", class_path, "-Xmx256m", "-XX:+UseSerialGC",
                                      "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
                                      "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                                      "-Dznode.container.checkIntervalMs=200",
                                      // By default a cut-off server asks again after a minute.
                                      "-Dzookeeper.fastleader.maxNotificationInterval=500"};
  command.insert(command.end(), options_.java.begin(), options_.java.end());
  command.insert(command.end(), {main_class, path(config_file)});
  std::filesystem::remove(path(log_file));
  process_ = start_server(command, path(log_file));
}

void ZooKeeperServer::await() const {
  if (comes_up(*process_, [&] { return serves(); })) return;
  throw_if_port_taken(log());
  throw std::runtime_error("ZooKeeper did not start: " + log());
}

void ZooKeeperServer::start() {
  launch();
  await();
}

void ZooKeeperServer::restart() {
  kill();
  start();
}

std::string ZooKeeperServer::log() const { return text_of(path(log_file)); }

bool ZooKeeperServer::serves() const try {
  return four_letter("conf", Millis(200)).find("dataDir=" + data().string()) != std::string::npos;
} catch (const std::exception&) {
  return false;
}

std::string ZooKeeperServer::four_letter(const std::string& word, Millis silence) const {
  const auto socket = connect_to(port_);
  const timeval bound{silence.count() / 1000, silence.count() % 1000 * 1000};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  send(socket.get(), word.data(), word.size(), MSG_NOSIGNAL);
  std::string answer;
  char bytes[16384];
  for (ssize_t size = 0; (size = receive(socket, bytes, sizeof bytes)) > 0;)
    answer.append(bytes, static_cast<std::size_t>(size));
  return answer;
}

std::string ZooKeeperServer::monitor(const std::string& field) const {
  const auto head = "zk_" + field + '\t';
  std::istringstream lines(four_letter("mntr"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(head)) return line.substr(head.size());
  return {};
}

std::map<std::string, std::set<std::int64_t>> ZooKeeperServer::watchers() const {
  std::map<std::string, std::set<std::int64_t>> sessions;
  std::istringstream lines(four_letter("wchp"));
  std::string path;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('/')) path = line;
    if (line.starts_with('\t'))
      sessions[path].insert(static_cast<std::int64_t>(std::stoull(line.substr(1), nullptr, 16)));
  }
  return sessions;
}

std::set<std::string> ZooKeeperServer::sessions() const {
  constexpr auto id = "\t0x";
  std::set<std::string> ids;
  std::istringstream lines(four_letter("dump"));
  for (std::string line; std::getline(lines, line) && !line.starts_with("ephemeral nodes");)
    if (line.starts_with(id)) ids.insert(line.substr(1));
  return ids;
}

void end_holder_of(const ZooKeeperServer& server, const std::string& folder) {
  auto client = server.client();
  client.sync();
  const std::string before = folder + "/";
  std::optional<ZooKeeperStat> first;
  for (const auto& child : client.children(folder)) {
    const auto stat = client.exists(before + child);
    if (stat && stat->ephemeral_owner != 0 && (!first || stat->czxid < first->czxid)) first = stat;
  }
  if (!first) throw std::runtime_error("nobody holds " + folder);
  end_session(server.port(), first->ephemeral_owner);
}

}  // namespace holdfast::support
