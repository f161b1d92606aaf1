// tests/support/world.hpp: one store with nobody in it, for one test, and the clients on it.
//
// A store comes to the tests by a row in store_cases(), or by several if it can be set up in
// several ways: its scheme and how to make a Site, the place where it lives for one test (a folder,
// a server on a free port). Everything else about it is read from its traits. A build that has a
// store without a row fails RowsTest.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/backend.hpp"
#include "holdfast/holdfast.hpp"
#include "support/own_clock.hpp"

namespace holdfast::support {

class Site {
 public:
  virtual ~Site() = default;
  virtual std::string url() const = 0;
  // Ends the store and starts it again with what it keeps. An embedded store ends with its clients.
  virtual void restart() {}
  // See World.
  virtual void end_holder(const std::string& name) = 0;
  virtual std::vector<std::string> left_of(const std::string& name) = 0;
  virtual std::vector<std::string> left_of_clients() = 0;
  // Makes it as good as new for the next test; throws if it is not.
  virtual void clear() {}
};

// More than the 30 s that a lease lasts by default, and in tests.
inline constexpr Millis past_ttl{31'000};
// After so long such a lease is renewed; if it is not, less than two thirds of it are left.
inline constexpr Millis past_renewal{11'000};
// After so long somebody in line has asked again though no message came: half a ttl ± 25 %.
inline constexpr Millis past_asking{19'000};

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
  // With `release_deadline`, unless the options say something else.
  Store client(const StoreOptions& options = {}, std::string_view option = {}) const;
  const Traits& traits();
  void restart() { site_->restart(); }
  // The lease of whoever holds this name is over at the store, and nobody has told its holder.
  // Where a lease ends by a clock, that clock goes ahead by `past_ttl`: leases of up to 30 s are
  // over. No message tells those who wait on such a store; jump() their clock, and they ask again.
  void end_holder(const std::string& name) { site_->end_holder(name); }
  // What the store keeps of this name, read with the store's own client and not with ours: a text
  // for each claim, marker and mark, for a lock_delay that runs, and for a folder that has nothing
  // in it. The last number of a name, which is kept on purpose, does not count. A store that is
  // nowhere but in the library (memory) has only its own list.
  std::vector<std::string> left_of(const std::string& name) { return site_->left_of(name); }
  // What it keeps of its clients: sessions, leases, channels. Those that are open have some.
  std::vector<std::string> left_of_clients() { return site_->left_of_clients(); }
  // In the end: what a client withdraws may still be on its way.
  testing::AssertionResult nothing_left(const std::string& name);
  // The same, but for what stays for a while on purpose: "a mark" of a doubtful withdrawal, for its
  // ttl.
  testing::AssertionResult nothing_left_but(std::string_view what, const std::string& name);
  // A process was killed. What it holds of this name ends at the store, now or when its turn comes,
  // and `wake` makes the others ask again. False if it is still listed there in the end.
  bool bury(
      pid_t killed, const std::string& name,
      const std::function<void()>& wake = [] { jump(past_asking); });
  // `past_renewal`, or when the session is proven on which a lease rests.
  Millis renewal_due();
  // This lease of a client of this process is renewed once more: jumps to where that is due. The
  // client is asked something, because a jump wakes only timers, and sessions are proven by
  // threads.
  bool renewed(const Lease& lease, const Store& client) { return renewed(lease, &client); }
  bool renewed(const Lease& lease) { return renewed(lease, nullptr); }
  // The option for a client whose leases last so long where all of them rest on a session.
  std::string session(std::chrono::seconds lasts);

 private:
  bool renewed(const Lease& lease, const Store* client);

  std::unique_ptr<Site> site_;
  std::unique_ptr<Traits> traits_;
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
