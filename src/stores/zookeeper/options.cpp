#include "stores/zookeeper/options.hpp"

#include "stores/common/url_options.hpp"
#include "stores/zookeeper/paths.hpp"

namespace holdfast::stores::zookeeper {
namespace {

constexpr std::uint16_t default_port = 2181;

std::string servers_of(const Url& url) {
  if (url.hosts.empty()) wrong_url("a host is missing: write zookeeper://HOST");
  std::string servers;
  for (const Url::Host& host : url.hosts)
    servers += (servers.empty() ? "" : ",") + host_and_port(host, default_port);
  return servers;
}

void read(const Url& url, Options& options) {
  UrlOptions given(url, "a ZooKeeper store");
  options.servers = servers_of(url);
  if (!url.user.empty()) options.login = url.user + ":" + url.password;
  if (url.path != "/") options.chroot = url.path;
  if (!options.chroot.empty() && !is_path(options.chroot))
    wrong_url("the path behind the hosts is not one of ZooKeeper's: write /part/part");
  options.session =
      given.take_time("session", options.session, Millis(500), std::chrono::minutes(60));
  options.tick = given.take_time("tick", options.tick, Millis(1), std::chrono::minutes(1));
  if (options.tick * 3 > options.session)
    wrong_url("session must be at least three times the tick, for leases end one tick early");
  options.creator_only = given.take_one_of("acl", "open", "creator");
  if (options.creator_only && options.login.empty())
    wrong_url("acl=creator needs a creator: write zookeeper://USER:PASSWORD@HOST");
  constexpr Dialect dialects[] = {Dialect::own, Dialect::curator, Dialect::kazoo};
  options.dialect = dialects[given.take_dialect({"curator", "kazoo"})];
  given.end();
}

}  // namespace

bool read_options(const Url& url, Options& options, Problem& problem) {
  return read_url(problem, [&] { read(url, options); });
}

}  // namespace holdfast::stores::zookeeper
