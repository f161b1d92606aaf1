// The rows. A server's Site starts it on a free port in a TempFolder and ends it by its pid.
#include <algorithm>
#include <atomic>
#include <sstream>

#include "support/etcd/sites.hpp"
#include "support/files.hpp"
#include "support/own_clock.hpp"
#include "support/redis/sites.hpp"
#include "support/results.hpp"
#include "support/sqlite_client.hpp"
#include "support/world.hpp"
#include "support/zookeeper/sites.hpp"

namespace holdfast::support {
namespace {

class MemorySite : public Site {
 public:
  std::string url() const override { return "memory:" + world_; }
  void end_holder(const std::string&) override { jump(past_ttl); }
  // It exists only in the library, so nobody else can tell.
  std::vector<std::string> left_of(const std::string& name) override {
    std::vector<std::string> left;
    for (const auto& each : listed(open(url()).value(), name))
      left.emplace_back(each.waits ? "a waiter" : "a holder");
    return left;
  }
  std::vector<std::string> left_of_clients() override { return {}; }

 private:
  static std::string fresh() {
    static std::atomic<int> count{0};
    return "test" + std::to_string(++count);
  }
  const std::string world_ = fresh();
};

class SqliteSite : public Site {
 public:
  std::string url() const override { return "sqlite:" + file(); }
  void end_holder(const std::string& name) override {
    const SqliteClient database(file());
    constexpr auto granted = 1;
    // Back to the last renewal, because a lock_delay is counted from the end of the lease.
    const int ended = database.change(
        "UPDATE claims SET expires_us = expires_us - ttl_us"
        " WHERE name = CAST(? AS BLOB) AND standing = " +
            std::to_string(granted),
        name);
    if (ended == 0) throw std::runtime_error("nobody holds " + name);
  }
  std::vector<std::string> left_of(const std::string& name) override {
    if (!std::filesystem::exists(file())) return {};
    return SqliteClient(file()).texts(
        "SELECT CASE standing WHEN 0 THEN 'a waiter' WHEN 1 THEN 'a holder'"
        " WHEN 2 THEN 'a mark' ELSE 'a lock_delay' END FROM claims WHERE name = CAST(? AS BLOB)",
        name);
  }
  std::vector<std::string> left_of_clients() override {
    std::vector<std::string> sockets;
    std::error_code no_folder;
    for (const auto& each : std::filesystem::directory_iterator(file() + "-sock", no_folder))
      sockets.push_back("the socket " + each.path().filename().string());
    return sockets;
  }

 private:
  std::string file() const { return (folder_.path() / "locks.db").string(); }
  TempFolder folder_;
};

template <class Kind>
std::unique_ptr<Site> make() {
  return std::make_unique<Kind>();
}

constexpr int pool = 8;  // gRPC's grows to about that; libzookeeper has two per session.

}  // namespace

const std::vector<StoreCase>& all_store_cases() {
  static const std::vector<StoreCase> rows = {
      {"memory", "memory", "memory", make<MemorySite>},
      {"sqlite", "sqlite", "sqlite", make<SqliteSite>},
      {"redis", "redis", "redis", single_redis, Host::lender},
      {"rediss", "redis", "rediss", tls_redis, Host::lender},
      {"redis_sentinel", "redis", "redis+sentinel", sentinel_redis, Host::lender},
      {"redis_cluster", "redis", "redis+cluster", cluster_redis, Host::lender},
      {"zookeeper", "zookeeper", "zookeeper", single_zookeeper, Host::lender, pool},
      {"zookeeper_ensemble", "zookeeper", "zookeeper", ensemble_zookeeper, Host::lender, pool},
      {"etcd", "etcd", "etcd", single_etcd, Host::lender, pool},
      {"etcd_cluster", "etcd", "etcd", cluster_etcd, Host::lender, pool},
      {"etcds", "etcd", "etcds", tls_etcd, Host::lender, pool},
  };
  return rows;
}

const std::vector<std::string>& built_stores() {
  static const auto names = [] {
    std::istringstream list(HOLDFAST_BUILT_STORES);
    std::vector<std::string> all;
    for (std::string each; std::getline(list, each, ';');) all.push_back(each);
    return all;
  }();
  return names;
}

const std::vector<StoreCase>& store_cases() {
  static const auto rows = [] {
    auto all = all_store_cases();
    std::erase_if(all, [](const StoreCase& row) {
      return std::ranges::count(built_stores(), row.store) == 0;
    });
    return all;
  }();
  return rows;
}

}  // namespace holdfast::support
