// stores/etcd/leases.hpp: how long a lease counts, and the leases that are ready for reuse.
//
// An etcd leader answers keep-alives by itself, and goes on for a while after the others elected
// another. So a keep-alive counts only once a request that needs a majority, sent after its answer,
// was answered in the same raft term. The lease then counts from when the keep-alive was sent.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stores/etcd/wire.hpp"

namespace holdfast::stores::etcd {

struct Lease {
  std::int64_t id = 0;
  std::chrono::seconds ttl{};
  BootTime counted{};  // it lives for `ttl` from this moment

  BootTime end() const noexcept { return counted + ttl; }
  bool fresh(BootTime now) const noexcept { return now - counted < ttl / 6.0; }
  // A request that needs a majority, sent after this keep-alive's answer, was answered in `term`.
  void prove(const LeaseKept& kept, std::uint64_t term) noexcept;
};

// Whole seconds, never shorter than asked for.
std::chrono::seconds lease_ttl(Millis asked) noexcept;

// Leases without keys. They are not kept alive, so they end by themselves. Not thread-safe.
class LeasePool {
 public:
  std::optional<Lease> take(std::chrono::seconds ttl, BootTime now) noexcept;
  void give(const Lease& lease, std::chrono::seconds asked, BootTime now);
  std::vector<Lease> take_all();

 private:
  struct Free {
    Lease lease;
    std::chrono::seconds asked;
  };
  std::vector<Free> free_;  // the one given last is at the end
};

}  // namespace holdfast::stores::etcd
