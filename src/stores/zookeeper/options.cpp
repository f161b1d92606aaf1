#include "stores/zookeeper/options.hpp"

#include <charconv>

#include "core/text.hpp"
#include "stores/zookeeper/paths.hpp"

namespace holdfast::stores::zookeeper {
namespace {

constexpr std::uint16_t default_port = 2181;

// Thrown inside this file only: the first thing that is wrong ends the reading.
struct Wrong {
  std::string text;
};

class Reading {
 public:
  explicit Reading(const Url& url) : url_(url), left_(url.options) {}

  void read(Options& options) {
    read_servers(options);
    if (!url_.user.empty()) options.login = url_.user + ":" + url_.password;
    if (url_.path != "/") options.chroot = url_.path;
    if (!options.chroot.empty() && !is_path(options.chroot))
      throw Wrong{"the path behind the hosts is not one of ZooKeeper's: write /part/part"};
    read_times(options);
    options.creator_only = take_one_of("acl", "open", "creator");
    if (options.creator_only && options.login.empty())
      throw Wrong{"acl=creator needs a creator: write zookeeper://USER:PASSWORD@HOST"};
    read_dialect(options);
    if (!left_.empty())
      throw Wrong{"a ZooKeeper store knows no option '" + core::escaped(left_.begin()->first) +
                  "'"};
  }

 private:
  std::string take(std::string_view name) {
    const auto found = left_.find(name);
    if (found == left_.end()) return {};
    std::string value = std::move(found->second);
    left_.erase(found);
    return value;
  }

  bool take_one_of(const char* name, std::string_view usual, std::string_view other) {
    const std::string value = take(name);
    if (value.empty() || value == usual) return false;
    if (value == other) return true;
    throw Wrong{std::string(name) + " is " + std::string(usual) + " or " + std::string(other)};
  }

  void read_servers(Options& options) {
    if (url_.hosts.empty()) throw Wrong{"a host is missing: write zookeeper://HOST"};
    for (const Url::Host& host : url_.hosts) {
      const bool numeric_6 = host.name.find(':') != host.name.npos;
      if (!options.servers.empty()) options.servers += ',';
      options.servers += numeric_6 ? "[" + host.name + "]" : host.name;
      options.servers += ':' + std::to_string(host.port ? host.port : default_port);
    }
  }

  Millis take_time(const char* name, Millis usual, Millis least, Millis most) {
    const std::string text = take(name);
    if (text.empty()) return usual;
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    const std::string_view unit(read.ptr, end);
    if (read.ec != std::errc() || (unit != "ms" && unit != "s"))
      throw Wrong{std::string(name) + " needs a number and a unit: write for example " + name +
                  "=2s"};
    const Millis time(unit == "s" ? std::min<std::int64_t>(number, 1'000'000) * 1000 : number);
    if (time < least || time > most)
      throw Wrong{std::string(name) + " is from " + std::to_string(least.count()) + "ms to " +
                  std::to_string(most.count()) + "ms"};
    return time;
  }

  void read_times(Options& options) {
    options.session = take_time("session", options.session, Millis(500), std::chrono::minutes(60));
    options.tick = take_time("tick", options.tick, Millis(1), std::chrono::minutes(1));
    if (options.tick * 3 > options.session)
      throw Wrong{"session must be at least three times the tick, for leases end one tick early"};
  }

  void read_dialect(Options& options) {
    const std::string dialect = take("dialect");
    if (dialect == "curator") options.dialect = Dialect::curator;
    if (dialect == "kazoo") options.dialect = Dialect::kazoo;
    if (!dialect.empty() && options.dialect == Dialect::own)
      throw Wrong{"a ZooKeeper store knows no dialect '" + core::escaped(dialect) +
                  "'; there are dialect=curator and dialect=kazoo"};
  }

  const Url& url_;
  std::map<std::string, std::string, std::less<>> left_;
};

}  // namespace

bool read_options(const Url& url, Options& options, Problem& problem) {
  try {
    Reading(url).read(options);
  } catch (const Wrong& wrong) {
    problem = {Errc::invalid, "url", wrong.text};
    return false;
  }
  return true;
}

}  // namespace holdfast::stores::zookeeper
