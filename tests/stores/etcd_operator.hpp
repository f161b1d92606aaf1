// tests/stores/etcd_operator.hpp: what an operator sees of an etcd server, through etcdctl.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "holdfast/holdfast.hpp"
#include "support/etcd/server.hpp"

namespace holdfast {

inline Store client(const std::string& url) { return open(url).value(); }

inline std::vector<std::string> leases(const support::EtcdServer& server) {
  std::istringstream list(server.ctl({"lease", "list"}));
  std::vector<std::string> all;
  std::string line;
  std::getline(list, line);  // The first line is their number.
  while (std::getline(list, line)) all.push_back(line);
  return all;
}

}  // namespace holdfast
