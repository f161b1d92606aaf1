// stores/etcd/options.hpp: what an etcd URL says.
//
//   etcd://[user:password@]h1[:port],h2,h3        any members of it; etcds:// with TLS
//
//   ?ca=FILE cert=FILE key=FILE insecure=on       for etcds
//   ?dialect=etcd                                 the keys of etcdctl lock and Go's concurrency
#pragma once

#include <string>
#include <vector>

#include "holdfast/backend.hpp"

namespace holdfast::stores::etcd {

struct Tls {
  bool on = false;
  bool verify = true;
  std::string ca{};  // PEM; empty: the authorities that the system trusts
  std::string certificate{};
  std::string key{};
};

struct Options {
  std::vector<std::string> addresses;  // host:port
  std::string user;
  std::string password;
  Tls tls;
  bool etcd_dialect = false;
};

// False and a problem if the URL makes no sense.
bool read_options(const Url& url, Options& options, Problem& problem);

}  // namespace holdfast::stores::etcd
