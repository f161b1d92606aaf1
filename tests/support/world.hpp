// tests/support/world.hpp: one store with nobody in it, for one test, and the clients on it.
//
// A store comes to the tests by a row in store_cases(), or by several if it can be set up in
// several ways: its scheme and how to make a Site, the place where it lives for one test (a folder,
// a server on a free port). Everything else about it is read from its traits. A build that has a
// store without a row fails RowsTest.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/backend.hpp"
#include "holdfast/holdfast.hpp"

namespace holdfast::support {

class Site {
 public:
  virtual ~Site() = default;
  virtual std::string url() const = 0;
  // Ends the store and starts it again with what it keeps. An embedded store ends with its clients.
  virtual void restart() {}
  // Makes it as good as new for the next test; throws if it is not.
  virtual void clear() {}
};

// Where a Site lives: in the test's process, or with the lender, if to start it takes long.
enum class Host : std::uint8_t { test, lender };

struct StoreCase {
  std::string name;
  std::string store;  // its folder and its module
  std::string scheme;
  std::unique_ptr<Site> (*site)();
  Host host = Host::test;
  int pool = 0;  // how many threads its client library may add, whenever it likes
};
inline void PrintTo(const StoreCase& row, std::ostream* out) { *out << row.name; }
const std::vector<StoreCase>& all_store_cases();
const std::vector<std::string>& built_stores();  // what this build has
const std::vector<StoreCase>& store_cases();     // the rows of those

std::string with_option(std::string url, std::string_view option);  // "handover=off"; or set anew

class World {
 public:
  explicit World(const StoreCase& row);

  std::string url(std::string_view option = {}) const { return with_option(site_->url(), option); }
  Store client(const StoreOptions& options = {}, std::string_view option = {}) const;
  const Traits& traits();
  void restart() { site_->restart(); }
  // How often the leases of a client were renewed. A session's are kept by no call of their own:
  // there, how many thirds of it have passed.
  std::uint64_t renewals(const Store& client) { return renewals(client.stats().renewed); }
  std::uint64_t renewals(std::uint64_t counted);  // by a client in another process

 private:
  std::unique_ptr<Site> site_;
  std::unique_ptr<Traits> traits_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// The base of every suite.
class Conformance : public testing::TestWithParam<StoreCase> {
 protected:
  World world{GetParam()};
  const std::string name = "the/name";
};

#define HOLDFAST_ON_EVERY_STORE(Suite)                                                           \
  INSTANTIATE_TEST_SUITE_P(Stores, Suite, testing::ValuesIn(::holdfast::support::store_cases()), \
                           [](const auto& row) { return row.param.name; })

// A test is skipped by a trait, never by the name of a store.
#define HOLDFAST_NEEDS(trait) \
  if (!world.traits().trait) GTEST_SKIP() << "this store has no " #trait

}  // namespace holdfast::support
