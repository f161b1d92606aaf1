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
  std::string name(int of_case) const override { return "/interop/" + std::to_string(of_case); }
  std::size_t in_line(const std::string& name) const override {
    return server_.client().children(name).size();
  }
  std::uint64_t first(const std::string& name) const override {
    const auto sequence = [](const std::string& child) { return child.substr(child.size() - 10); };
    auto client = server_.client();
    const auto children = client.children(name);
    const auto child = std::ranges::min(children, {}, sequence);
    return static_cast<std::uint64_t>(client.exists(name + "/" + child).value().czxid);
  }
  void end_first(const std::string& name) const override { end_holder_of(server_, name); }

 private:
  const ZooKeeperServer server_{{.java = {"-Dzookeeper.forceSync=no"}}};
};

class EtcdGround final : public Ground {
 public:
  std::string address() const override { return server_.address(); }
  std::string url() const override { return server_.url(); }
  std::string name(int of_case) const override { return "interop/" + std::to_string(of_case); }
  std::size_t in_line(const std::string& name) const override { return numbers(name).size(); }
  std::uint64_t first(const std::string& name) const override {
    return std::ranges::min(numbers(name));
  }
  void end_first(const std::string& name) const override { server_.end_first(name + "/"); }

 private:
  std::vector<std::uint64_t> numbers(const std::string& name) const {
    constexpr std::string_view field = "\"CreateRevision\" : ";
    std::istringstream lines(server_.ctl({"get", "--prefix", name + "/", "--write-out=fields"}));
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
      }()) {}

bool Neighbour::ready() try {
  return read(Millis(220'000)) == "ready";  // It may have to be fetched first.
} catch (const std::exception&) {
  return false;
}

void Neighbour::meet(std::string name, std::string kind) {
  name_ = std::move(name);
  kind_ = std::move(kind);
}

void Neighbour::start_acquire(const std::string& kind, Millis wait) {
  send("acquire " + name_ + " " + kind + " " + std::to_string(wait.count() / 1000));
}

std::uint64_t Neighbour::acquired() {
  const auto answer = read();
  if (!answer.starts_with("held ")) throw std::runtime_error("the neighbour says: " + answer);
  return std::stoull(answer.substr(5));
}

void Neighbour::release() {
  if (const auto answer = ask("release " + name_); answer != "released")
    throw std::runtime_error("the neighbour says: " + answer);
}

void Neighbour::start_visits(const std::string& folder, int rounds) {
  send("visit " + name_ + " " + kind_ + " " + folder + " " + std::to_string(rounds));
}

const Ground& Neighbourhood::ground(const NeighbourCase& row) {
  auto& ground = grounds_[row.store];
  if (!ground) ground = row.ground();
  return *ground;
}

Neighbour* Neighbourhood::neighbour(const NeighbourCase& row, std::size_t nth) {
  const auto [at, fresh] = neighbours_[row.command].try_emplace(nth);
  auto& it = at->second;
  const bool died = it && it->wait(Millis(0));
  if (fresh || died) {
    it = std::make_unique<Neighbour>(row, ground(row));
    if (!it->ready()) it.reset();  // Only once, because it may take minutes to find out.
  }
  return it.get();
}

void Neighbourhood::forget(const NeighbourCase& row) { neighbours_.erase(row.command); }

}  // namespace holdfast::support
