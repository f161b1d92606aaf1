#include "support/redis/sites.hpp"

#include "support/redis/cluster.hpp"
#include "support/redis/replicas.hpp"
#include "support/skewed_clock.hpp"

namespace holdfast::support {
namespace {

constexpr Millis never_down{60'000};

// All servers of one site have the same clock. It only ever goes ahead, and by less than what makes
// one of them give up another (never_down, and repl-timeout, which is 60 s).
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

template <class Servers>
class SeveralRedis : public Timed {
 public:
  std::string url() const override { return servers_.url(); }
  void restart() override { servers_.restart(); }
  void clear() override { servers_.clear(); }

 private:
  Servers servers_{never_down, durable()};
};

}  // namespace

std::unique_ptr<Site> single_redis() { return std::make_unique<SingleRedis>(); }
std::unique_ptr<Site> tls_redis() { return std::make_unique<TlsRedis>(); }
std::unique_ptr<Site> sentinel_redis() { return std::make_unique<SeveralRedis<RedisReplicas>>(); }
std::unique_ptr<Site> cluster_redis() { return std::make_unique<SeveralRedis<RedisCluster>>(); }

}  // namespace holdfast::support
