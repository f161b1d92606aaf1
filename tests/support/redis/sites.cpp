#include "support/redis/sites.hpp"

#include "support/redis/cluster.hpp"
#include "support/redis/left.hpp"
#include "support/redis/replicas.hpp"
#include "support/skewed_clock.hpp"

namespace holdfast::support {
namespace {

constexpr Millis never_down{60'000};

// All servers of one site have the same clock. It only goes ahead, and by less than the time after
// which one gives up another (never_down, and repl-timeout, which is 60 s).
class Timed : public Site {
 public:
  void end_holder(const std::string&) override { clock_.set_ahead(ahead_ += past_ttl); }

 protected:
  RedisOptions durable() const {
    return {.appendfsync = "always", .environment = clock_.environment()};
  }

 private:
  SkewedClock clock_;
  Millis ahead_{0};
};

class SingleRedis : public Timed {
 public:
  explicit SingleRedis(const std::optional<Certificate>& tls = {}) : server_(with(tls)) {}
  std::string url() const override { return server_.url(); }
  void restart() override { server_.restart(); }
  void clear() override {
    auto redis = server_.client();
    redis.command({"FLUSHALL"});
    redis.command({"SCRIPT", "FLUSH"});
  }
  std::vector<std::string> left_of(const std::string& name) override {
    return left_in(server_.client(), name);
  }
  std::vector<std::string> left_of_clients() override { return channels_of(server_.client()); }

 protected:
  RedisServer server_;

 private:
  RedisOptions with(const std::optional<Certificate>& tls) const {
    auto options = durable();
    options.tls = tls;
    return options;
  }
};

class TlsRedis : public SingleRedis {
 public:
  TlsRedis() : SingleRedis(authority().issue(loopback_names)) {}
  std::string url() const override { return server_.tls_url(); }
};

std::vector<RedisServer*> holding_data(RedisReplicas& replicas) { return {&replicas.master()}; }
std::vector<RedisServer*> holding_data(RedisCluster& cluster) {
  std::vector<RedisServer*> all;
  for (const auto& node : cluster.nodes()) all.push_back(node.get());
  return all;
}

template <class Servers>
class SeveralRedis : public Timed {
 public:
  std::string url() const override { return servers_.url(); }
  void restart() override { servers_.restart(); }
  void clear() override { servers_.clear(); }
  std::vector<std::string> left_of(const std::string& name) override {
    return of_each([&](RedisServer& server) { return left_in(server.client(), name); });
  }
  std::vector<std::string> left_of_clients() override {
    return of_each([](RedisServer& server) { return channels_of(server.client()); });
  }

 private:
  template <class Read>
  std::vector<std::string> of_each(Read&& read) {
    std::vector<std::string> all;
    for (RedisServer* server : holding_data(servers_)) {
      const auto some = read(*server);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  Servers servers_{never_down, durable()};
};

}  // namespace

std::unique_ptr<Site> single_redis() { return std::make_unique<SingleRedis>(); }
std::unique_ptr<Site> tls_redis() { return std::make_unique<TlsRedis>(); }
std::unique_ptr<Site> sentinel_redis() { return std::make_unique<SeveralRedis<RedisReplicas>>(); }
std::unique_ptr<Site> cluster_redis() { return std::make_unique<SeveralRedis<RedisCluster>>(); }

}  // namespace holdfast::support
