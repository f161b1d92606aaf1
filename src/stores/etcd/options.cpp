#include "stores/etcd/options.hpp"

#include <fstream>
#include <iterator>

#include "stores/common/url_options.hpp"

namespace holdfast::stores::etcd {
namespace {

constexpr std::uint16_t etcd_port = 2379;

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Tls read_tls(const Url& url, UrlOptions& given) {
  Tls tls;
  tls.on = url.scheme == "etcds";
  const net::TlsOptions files = given.take_tls(tls.on, "etcds://");
  if (!tls.on) return tls;
  if (!files.revoked_file.empty()) wrong_url("gRPC reads no lists of revoked certificates: no crl");
  // gRPC would report a bad file only at the first call, and would not say what is wrong with it.
  Problem problem;
  if (!net::TlsContext::make(files, problem)) throw problem;
  tls.verify = files.verify;
  if (!files.ca_file.empty()) tls.ca = text_of(files.ca_file);
  if (!files.certificate_file.empty()) {
    tls.certificate = text_of(files.certificate_file);
    tls.key = text_of(files.key_file);
  }
  return tls;
}

void read(const Url& url, Options& options) {
  UrlOptions given(url, "an etcd store");
  if (url.hosts.empty()) wrong_url("a host is missing: write " + url.scheme + "://HOST");
  if (!url.path.empty() && url.path != "/")
    wrong_url("an etcd store has no path: write " + url.scheme + "://HOST?prefix=…");
  for (const Url::Host& host : url.hosts)
    options.addresses.push_back(host_and_port(host, etcd_port));
  options.user = url.user;
  options.password = url.password;
  if (options.user.empty() && !options.password.empty())
    wrong_url("a password needs its user: write " + url.scheme + "://USER:PASSWORD@HOST");
  options.tls = read_tls(url, given);
  options.etcd_dialect = given.take_dialect({"etcd"}) != 0;
  given.end();
}

}  // namespace

bool read_options(const Url& url, Options& options, Problem& problem) {
  return read_url(problem, [&] { read(url, options); });
}

}  // namespace holdfast::stores::etcd
