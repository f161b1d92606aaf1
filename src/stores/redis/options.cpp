#include "stores/redis/options.hpp"

#include <unistd.h>

#include <charconv>
#include <random>

#include "stores/common/url_options.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr std::uint16_t redis_port = 6379, sentinel_port = 26379;

// Less would let tokens go back whenever a server's clock is corrected.
constexpr Millis least_keep = std::chrono::seconds(1);
constexpr Millis most_keep = std::chrono::hours(24 * 365);

class Reading {
 public:
  explicit Reading(const Url& url) : url_(url), given_(url, "a Redis store") {}

  void read(Options& options) {
    read_places(options);
    options.login = {url_.user, url_.password};
    options.sentinel_login = {given_.take("sentinel_user"), given_.take("sentinel_password")};
    read_path(options);
    read_tls(options);
    read_setting(options.setting, options.topology);
    read_replicas(options);
    if (options.setting.string_dialect && options.setting.guard)
      wrong_url("dialect=string has no guard: its keys are another's, and so is their format");
    given_.end();
  }

 private:
  static int number(std::string_view text, int most, const std::string& what) {
    int value = 0;
    const auto end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || value < 0 || value > most)
      wrong_url(what + " is a number from 0 to " + std::to_string(most));
    return value;
  }

  void read_places(Options& options) {
    if (url_.scheme == "redis+unix") {
      if (!url_.hosts.empty() || url_.path.empty()) wrong_url("write redis+unix:/path/to/socket");
      options.places.push_back({.path = url_.path});
      return;
    }
    if (url_.scheme == "redis+sentinel") options.topology = Topology::sentinel;
    if (url_.scheme == "redis+cluster") options.topology = Topology::cluster;
    if (url_.hosts.empty()) wrong_url("a host is missing: write " + url_.scheme + "://HOST");
    if (options.topology == Topology::single && url_.hosts.size() > 1)
      wrong_url(
          "several hosts: write redis+sentinel:// or redis+cluster:// if they belong together");
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
        wrong_url("the master's name is missing: write redis+sentinel://HOST/NAME");
    }
    const std::string database = path.empty() ? given_.take("db") : std::string(path);
    if (!database.empty()) options.database = number(database, 1'000'000, "the database");
    if (options.topology == Topology::cluster && options.database != 0)
      wrong_url("a Redis Cluster has no databases but 0");
  }

  void read_tls(Options& options) {
    const bool on = given_.take_switch("tls") || url_.scheme == "rediss";
    const net::TlsOptions tls = given_.take_tls(on, "rediss:// or tls=on");
    if (!on) return;
    Problem problem;
    options.tls = net::TlsContext::make(tls, problem);
    if (!options.tls) throw problem;
  }

  void read_setting(Setting& setting, Topology topology) {
    setting.cluster = topology == Topology::cluster;
    setting.guard = given_.take_switch("guard");
    const Millis none{0};
    const Millis guard_ttl =
        given_.take_time("guard_ttl", none, Millis(500), std::chrono::hours(24));
    if (guard_ttl != none && !setting.guard) wrong_url("guard_ttl is of use with guard=on only");
    if (guard_ttl != none) setting.guard_ttl = guard_ttl;
    setting.string_dialect = given_.take_dialect({"string"}) != 0;
    const Millis keep = given_.take_time("keep", none, least_keep, most_keep);
    if (keep != none && setting.string_dialect)
      wrong_url("keep is of no use with dialect=string: nothing of a name is kept there");
    if (keep != none) setting.keep = keep;
  }

  void read_replicas(Options& options) {
    const auto text = given_.take("wait_replicas");
    if (text.empty()) return;
    options.wait_replicas = text == "majority" ? Options::majority
                            : text == "all"    ? Options::all
                                               : number(text, 1000, "wait_replicas");
  }

  const Url& url_;
  UrlOptions given_;
};

// One channel per open store. It is no secret: others can only use it to wake us for nothing.
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

// What `CLIENT LIST` shows. The part from the channel makes it unique to this store.
std::string client_name(const std::string& channel) {
  char host[65] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  std::string name = std::string(client_prefix) + host + "-" + std::to_string(::getpid()) + "-" +
                     channel.substr(channel.rfind(':') + 1);
  for (char& c : name)
    if (c <= ' ' || c > '~') c = '_';
  return name;
}

}  // namespace

bool read_options(const Url& url, Options& options, Problem& problem) {
  if (!read_url(problem, [&] { Reading(url).read(options); })) return false;
  options.setting.channel = fresh_channel();
  options.client_name = client_name(options.setting.channel);
  return true;
}

}  // namespace holdfast::stores::redis
