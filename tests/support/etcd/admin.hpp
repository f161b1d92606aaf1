// tests/support/etcd/admin.hpp: an etcd server seen through its own JSON gateway, to clear it and
// to end leases. Unlike etcdctl it needs no new process, and it shares no code with our store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::support {

class EtcdAdmin {
 public:
  explicit EtcdAdmin(int port) : port_(port) {}  // a port that speaks plain HTTP

  void clear() const;  // removes every key and every lease
  std::int64_t first_lease(const std::string& key_prefix) const;  // of the oldest key; 0: none
  void revoke(std::int64_t lease) const;  // does nothing if it is already gone
  // The sum of all metrics that begin with: "grpc_server_started_total{grpc_method=\"Watch\"".
  long figure(const std::string& start) const;
  std::vector<std::string> keys(const std::string& prefix) const;
  std::vector<std::int64_t> leases() const;

 private:
  std::string post(const std::string& path, const std::string& body) const;
  std::string ask(const std::string& what, const std::string& body) const;

  int port_;
};

}  // namespace holdfast::support
