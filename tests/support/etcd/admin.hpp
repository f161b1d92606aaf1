// tests/support/etcd/admin.hpp: an etcd server as its own JSON gateway shows it, to clear it and to
// end leases. It takes no program to be started, as etcdctl does, and shares no code with our
// store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::support {

class EtcdAdmin {
 public:
  explicit EtcdAdmin(int port) : port_(port) {}  // where it speaks plain HTTP

  void clear() const;                                             // no key and no lease is left
  std::int64_t first_lease(const std::string& key_prefix) const;  // of the oldest key; 0: none
  void revoke(std::int64_t lease) const;  // one that is gone already is fine
  // The sum of its figures that are so called: "grpc_server_started_total{grpc_method=\"Watch\"".
  long figure(const std::string& start) const;
  std::vector<std::string> keys(const std::string& prefix) const;
  std::vector<std::int64_t> leases() const;

 private:
  std::string post(const std::string& path, const std::string& body) const;
  std::string ask(const std::string& what, const std::string& body) const;

  int port_;
};

}  // namespace holdfast::support
