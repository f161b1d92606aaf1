// tests/faults/consensus/keeper.hpp: three servers of ZooKeeper or etcd that form a quorum, and
// what a test can do to them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/result.hpp"

namespace holdfast::support {

class Keeper {
 public:
  virtual ~Keeper() = default;
  virtual std::string url(Millis session) const = 0;  // not for etcd: its leases have their own ttl
  virtual void kill_leader() = 0;
  virtual void start_killed() = 0;
  // A number from the leader that grows with every election.
  virtual std::uint64_t reign() = 0;
  // Ends the session or the lease of the holder of `name`.
  virtual void end_holder(const std::string& name) = 0;
  // What the store has of `name`, read with the store's own client.
  virtual std::vector<std::string> left_of(const std::string& name) = 0;
};

struct KeeperCase {
  std::string name;
  std::unique_ptr<Keeper> (*make)();
};
inline void PrintTo(const KeeperCase& row, std::ostream* out) { *out << row.name; }

std::unique_ptr<Keeper> zookeeper_keeper();
std::unique_ptr<Keeper> etcd_keeper();

#define HOLDFAST_ON_EVERY_KEEPER(Suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(                                                                        \
      Keepers, Suite,                                                                              \
      testing::Values(KeeperCase{"zookeeper", zookeeper_keeper}, KeeperCase{"etcd", etcd_keeper}), \
      [](const auto& row) { return row.param.name; })

}  // namespace holdfast::support
