#include "interop/neighbour.hpp"

#include <algorithm>
#include <sstream>

#include "support/etcd/server.hpp"
#include "support/world.hpp"
#include "support/zookeeper/server.hpp"

namespace holdfast::support {
namespace {

class ZooKeeperGround final : public Ground {
 public:
  std::string address() const override { return server_.address(); }
  std::string url() const override {
    return server_.url() + "?tick=200ms&session=" + std::to_string(session.count()) + "ms";
  }
  std::string name() const override { return "/interop/name"; }
  std::size_t in_line() override { return client_.children(name()).size(); }
  std::uint64_t first() override {
    const auto sequence = [](const std::string& child) { return child.substr(child.size() - 10); };
    const auto children = client_.children(name());
    const auto child = std::ranges::min(children, {}, sequence);
    return static_cast<std::uint64_t>(client_.exists(name() + "/" + child).value().czxid);
  }

 private:
  const ZooKeeperServer server_{{.java = {"-Dzookeeper.forceSync=no"}}};
  ZooKeeperClient client_{server_.port()};
};

class EtcdGround final : public Ground {
 public:
  std::string address() const override { return server_.address(); }
  std::string url() const override { return server_.url(); }
  std::string name() const override { return "interop/name"; }
  std::size_t in_line() override { return numbers().size(); }
  std::uint64_t first() override { return std::ranges::min(numbers()); }

 private:
  std::vector<std::uint64_t> numbers() const {
    constexpr std::string_view field = "\"CreateRevision\" : ";
    std::istringstream lines(server_.ctl({"get", "--prefix", name() + "/", "--write-out=fields"}));
    std::vector<std::uint64_t> all;
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with(field)) all.push_back(std::stoull(line.substr(field.size())));
    return all;
  }

  const EtcdServer server_;
};

template <class At>
std::unique_ptr<Ground> make() {
  return std::make_unique<At>();
}

}  // namespace

std::vector<NeighbourCase> neighbour_cases() {
  const std::string here = HOLDFAST_INTEROP;
  const std::string there = HOLDFAST_INTEROP_BUILD;
  const std::vector<std::string> curator = {
      here + "/curator/run", there + "/curator",        here + "/curator/Neighbour.java",
      "-XX:+UseSerialGC",    "-XX:TieredStopAtLevel=1", "Neighbour"};
  const std::vector<std::string> kazoo = {here + "/python", "kazoo", there + "/kazoo",
                                          here + "/kazoo_lock.py"};
  const std::vector<std::string> etcdctl = {"python3", "-B", here + "/etcdctl_lock.py"};
  std::vector<NeighbourCase> rows = {
      {"curator", "zookeeper", "curator", "mutex", curator, make<ZooKeeperGround>},
      {"curator_write", "zookeeper", "curator", "write", curator, make<ZooKeeperGround>},
      {"kazoo", "zookeeper", "kazoo", "mutex", kazoo, make<ZooKeeperGround>},
      {"etcdctl", "etcd", "etcd", "mutex", etcdctl, make<EtcdGround>},
  };
  std::erase_if(rows, [](const NeighbourCase& row) {
    return std::ranges::find(built_stores(), row.store) == built_stores().end();
  });
  return rows;
}

Neighbour::Neighbour(const NeighbourCase& row, const Ground& ground)
    : Process([&] {
        auto command = row.command;
        command.push_back(ground.address());
        command.push_back(std::to_string(session.count()));
        return command;
      }()),
      kind_(row.kind),
      name_(ground.name()) {}

bool Neighbour::ready() try {
  return read(Millis(220'000)) == "ready";  // It may have to be fetched first.
} catch (const std::exception&) {
  return false;
}

void Neighbour::start_acquire(const std::string& kind, Millis wait) {
  send("acquire " + name_ + " " + kind + " " + std::to_string(wait.count() / 1000));
}

std::uint64_t Neighbour::acquired() {
  const auto answer = read();
  if (!answer.starts_with("held ")) throw std::runtime_error("the neighbour says: " + answer);
  return std::stoull(answer.substr(5));
}

bool Neighbour::busy(Millis wait) {
  start_acquire(kind_, wait);
  return read() == "busy";
}

void Neighbour::release() {
  if (const auto answer = ask("release " + name_); answer != "released")
    throw std::runtime_error("the neighbour says: " + answer);
}

void Neighbour::start_visits(const std::string& folder, int rounds) {
  send("visit " + name_ + " " + kind_ + " " + folder + " " + std::to_string(rounds));
}

}  // namespace holdfast::support
