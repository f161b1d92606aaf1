#include "stores/etcd/options.hpp"

#include <fstream>
#include <iterator>

#include "core/text.hpp"
#include "net/tls.hpp"

namespace holdfast::stores::etcd {
namespace {

constexpr std::uint16_t etcd_port = 2379;

// Thrown inside this file only: the first thing that is wrong ends the reading.
struct Wrong {
  std::string text;
};

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Reading {
 public:
  explicit Reading(const Url& url) : url_(url), left_(url.options) {}

  void read(Options& options) {
    if (url_.hosts.empty()) throw Wrong{"a host is missing: write " + url_.scheme + "://HOST"};
    if (!url_.path.empty() && url_.path != "/")
      throw Wrong{"an etcd store has no path: write " + url_.scheme + "://HOST?prefix=…"};
    for (const Url::Host& host : url_.hosts) options.addresses.push_back(address(host));
    options.user = url_.user;
    options.password = url_.password;
    if (options.user.empty() && !options.password.empty())
      throw Wrong{"a password needs its user: write " + url_.scheme + "://USER:PASSWORD@HOST"};
    read_tls(options.tls);
    const auto dialect = take("dialect");
    if (!dialect.empty() && dialect != "etcd")
      throw Wrong{"an etcd store knows no dialect '" + core::escaped(dialect) +
                  "'; there is dialect=etcd"};
    options.etcd_dialect = !dialect.empty();
    if (!left_.empty())
      throw Wrong{"an etcd store knows no option '" + core::escaped(left_.begin()->first) + "'"};
  }

 private:
  static std::string address(const Url::Host& host) {
    const bool is_ipv6 = host.name.find(':') != std::string::npos;
    return (is_ipv6 ? '[' + host.name + ']' : host.name) + ':' +
           std::to_string(host.port ? host.port : etcd_port);
  }

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

  void read_tls(Tls& tls) {
    net::TlsOptions files;
    files.ca_file = take("ca");
    files.certificate_file = take("cert");
    files.key_file = take("key");
    files.verify = !take_switch("insecure");
    tls.on = url_.scheme == "etcds";
    if (!tls.on) {
      if (!files.ca_file.empty() || !files.certificate_file.empty() || !files.key_file.empty() ||
          !files.verify)
        throw Wrong{"ca, cert, key and insecure are of use with TLS only: write etcds://"};
      return;
    }
    if (files.certificate_file.empty() != files.key_file.empty())
      throw Wrong{"a client certificate needs both cert=FILE and key=FILE"};
    // gRPC would not say before the first call, and not in words, what is wrong with a file.
    Problem problem;
    if (!net::TlsContext::make(files, problem)) throw problem;
    tls.verify = files.verify;
    if (!files.ca_file.empty()) tls.ca = text_of(files.ca_file);
    if (files.certificate_file.empty()) return;
    tls.certificate = text_of(files.certificate_file);
    tls.key = text_of(files.key_file);
  }

  const Url& url_;
  std::map<std::string, std::string, std::less<>> left_;
};

}  // namespace

bool read_options(const Url& url, Options& options, Problem& problem) {
  try {
    Reading(url).read(options);
    return true;
  } catch (const Wrong& wrong) {
    problem = {Errc::invalid, "url", wrong.text};
  } catch (const Problem& other) {
    problem = other;
  }
  return false;
}

}  // namespace holdfast::stores::etcd
