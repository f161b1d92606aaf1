#include "support/redis/sites.hpp"

#include "support/redis/cluster.hpp"
#include "support/redis/replicas.hpp"

namespace holdfast::support {
namespace {

constexpr Millis never_down{60'000};
const RedisOptions durable{.appendfsync = "always"};

class SingleRedis : public Site {
 public:
  explicit SingleRedis(const RedisOptions& options) : server_(options) {}
  std::string url() const override { return server_.url(); }
  void restart() override { server_.restart(); }
  void clear() override {
    auto redis = server_.client();
    redis.command({"FLUSHALL"});
    redis.command({"SCRIPT", "FLUSH"});
  }

 protected:
  RedisServer server_;
};

class TlsRedis : public SingleRedis {
 public:
  using SingleRedis::SingleRedis;
  std::string url() const override { return server_.tls_url(); }
};

template <class Servers>
class SeveralRedis : public Site {
 public:
  std::string url() const override { return servers_.url(); }
  void restart() override { servers_.restart(); }
  void clear() override { servers_.clear(); }

 private:
  Servers servers_{never_down, durable};
};

}  // namespace

std::unique_ptr<Site> single_redis() { return std::make_unique<SingleRedis>(durable); }
std::unique_ptr<Site> tls_redis() {
  auto options = durable;
  options.tls = authority().issue(loopback_names);
  return std::make_unique<TlsRedis>(options);
}
std::unique_ptr<Site> sentinel_redis() { return std::make_unique<SeveralRedis<RedisReplicas>>(); }
std::unique_ptr<Site> cluster_redis() { return std::make_unique<SeveralRedis<RedisCluster>>(); }

}  // namespace holdfast::support
