#include "stores/redis/options.hpp"

#include <unistd.h>

#include <charconv>
#include <random>

#include "core/text.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr std::uint16_t redis_port = 6379, sentinel_port = 26379;

// Thrown inside this file only: the first thing that is wrong ends the reading.
struct Wrong {
  std::string text;
};

class Reading {
 public:
  explicit Reading(const Url& url) : url_(url), left_(url.options) {}

  void read(Options& options) {
    read_places(options);
    options.login = {url_.user, url_.password};
    options.sentinel_login = {take("sentinel_user"), take("sentinel_password")};
    read_path(options);
    read_tls(options);
    read_setting(options.setting, options.topology);
    read_replicas(options);
    if (options.setting.string_dialect && options.setting.guard)
      throw Wrong{"dialect=string has no guard: its keys are another's, and so is their format"};
    if (!left_.empty())
      throw Wrong{"a Redis store knows no option '" + core::escaped(left_.begin()->first) + "'"};
  }

 private:
  std::string take(std::string_view name) {
    const auto found = left_.find(name);
    if (found == left_.end()) return {};
    std::string value = std::move(found->second);
    left_.erase(found);
    return value;
  }

  bool take_switch(std::string_view name) {
    const std::string value = take(name);
    if (value.empty() || value == "off") return false;
    if (value == "on") return true;
    throw Wrong{std::string(name) + " is on or off"};
  }

  static int number(std::string_view text, int most, const std::string& what) {
    int value = 0;
    const auto end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || value < 0 || value > most)
      throw Wrong{what + " is a number from 0 to " + std::to_string(most)};
    return value;
  }

  void read_places(Options& options) {
    if (url_.scheme == "redis+unix") {
      if (!url_.hosts.empty() || url_.path.empty()) throw Wrong{"write redis+unix:/path/to/socket"};
      options.places.push_back({.path = url_.path});
      return;
    }
    if (url_.scheme == "redis+sentinel") options.topology = Topology::sentinel;
    if (url_.scheme == "redis+cluster") options.topology = Topology::cluster;
    if (url_.hosts.empty()) throw Wrong{"a host is missing: write " + url_.scheme + "://HOST"};
    if (options.topology == Topology::single && url_.hosts.size() > 1)
      throw Wrong{
          "several hosts: write redis+sentinel:// or redis+cluster:// if they belong together"};
    const auto port = options.topology == Topology::sentinel ? sentinel_port : redis_port;
    for (const Url::Host& host : url_.hosts)
      options.places.push_back({.host = host.name, .port = host.port ? host.port : port});
  }

  // /database, or for sentinels /NAME[/database]
  void read_path(Options& options) {
    std::string_view path = url_.path;
    if (url_.scheme == "redis+unix") path = {};
    if (path.starts_with('/')) path.remove_prefix(1);
    if (options.topology == Topology::sentinel) {
      const auto slash = path.find('/');
      options.master = path.substr(0, slash);
      path = slash == path.npos ? std::string_view() : path.substr(slash + 1);
      if (options.master.empty())
        throw Wrong{"the master's name is missing: write redis+sentinel://HOST/NAME"};
    }
    const std::string database = path.empty() ? take("db") : std::string(path);
    if (!database.empty()) options.database = number(database, 1'000'000, "the database");
    if (options.topology == Topology::cluster && options.database != 0)
      throw Wrong{"a Redis Cluster has no databases but 0"};
  }

  void read_tls(Options& options) {
    net::TlsOptions tls;
    tls.ca_file = take("ca");
    tls.certificate_file = take("cert");
    tls.key_file = take("key");
    tls.revoked_file = take("crl");
    tls.verify = !take_switch("insecure");
    const bool on = take_switch("tls") || url_.scheme == "rediss";
    if (!on) {
      if (!tls.ca_file.empty() || !tls.certificate_file.empty() || !tls.revoked_file.empty() ||
          !tls.verify)
        throw Wrong{
            "ca, crl, cert, key and insecure are of use with TLS only: write rediss:// or tls=on"};
      return;
    }
    if (tls.certificate_file.empty() != tls.key_file.empty())
      throw Wrong{"a client certificate needs both cert=FILE and key=FILE"};
    Problem problem;
    options.tls = net::TlsContext::make(tls, problem);
    if (!options.tls) throw problem;
  }

  void read_setting(Setting& setting, Topology topology) {
    setting.cluster = topology == Topology::cluster;
    setting.guard = take_switch("guard");
    if (const auto text = take("guard_ttl"); !text.empty()) {
      if (!setting.guard) throw Wrong{"guard_ttl is of use with guard=on only"};
      std::string_view digits = text;
      int unit = 1;
      if (digits.ends_with("ms")) {
        digits.remove_suffix(2);
      } else if (digits.ends_with('s')) {
        digits.remove_suffix(1);
        unit = 1000;
      } else {
        throw Wrong{"guard_ttl needs a unit: write for example guard_ttl=60s"};
      }
      setting.guard_ttl = Millis(number(digits, 1'000'000, "guard_ttl")) * unit;
      if (setting.guard_ttl < Millis(500)) throw Wrong{"guard_ttl is at least 500ms"};
    }
    const auto dialect = take("dialect");
    if (!dialect.empty() && dialect != "string")
      throw Wrong{"a Redis store knows no dialect '" + core::escaped(dialect) +
                  "'; there is dialect=string"};
    setting.string_dialect = !dialect.empty();
  }

  void read_replicas(Options& options) {
    const auto text = take("wait_replicas");
    if (text.empty()) return;
    options.wait_replicas = text == "majority" ? Options::majority
                            : text == "all"    ? Options::all
                                               : number(text, 1000, "wait_replicas");
  }

  const Url& url_;
  std::map<std::string, std::string, std::less<>> left_;
};

// One channel an open store. It is no secret: what can be done with it is to wake us for nothing.
std::string fresh_channel() {
  std::random_device random;
  std::string channel = "hf:to:";
  for (int i = 0; i < 4; ++i) {
    char hex[9];
    std::snprintf(hex, sizeof hex, "%08x", random());
    channel += hex;
  }
  return channel;
}

// As `CLIENT LIST` shows it.
std::string client_name() {
  char host[65] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  std::string name = "holdfast-" + std::string(host) + "-" + std::to_string(::getpid());
  for (char& c : name)
    if (c <= ' ' || c > '~') c = '_';
  return name;
}

}  // namespace

bool read_options(const Url& url, Options& options, Problem& problem) {
  try {
    Reading(url).read(options);
  } catch (const Wrong& wrong) {
    problem = {Errc::invalid, "url", wrong.text};
    return false;
  } catch (const Problem& other) {
    problem = other;
    return false;
  }
  options.setting.channel = fresh_channel();
  options.client_name = client_name();
  return true;
}

}  // namespace holdfast::stores::redis
