// tests/support/world.hpp: an empty store for one test, and the clients on it.
//
// A store joins the tests with a row in store_cases(), or several for several setups: its scheme,
// and how to make a Site, the place where it lives for one test (a folder, a server on a free
// port). Everything else about it comes from its traits. Rows.EveryBuiltStoreHasOne fails if a
// built store has no row.
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
  // Makes it as good as new for the next test; throws if that fails.
  virtual void clear() {}
};

// Longer than the 30 s that a lease lasts, by default and in tests.
inline constexpr Millis past_ttl{31'000};
// By then such a lease has been renewed, or has less than two thirds left.
inline constexpr Millis past_renewal{11'000};
// By then every waiter in line has asked again without a message: after half a ttl ± 25 %.
inline constexpr Millis past_asking{19'000};

// Where a Site lives: in the test's process, or with the lender if it is slow to start.
enum class Host : std::uint8_t { test, lender };

struct StoreCase {
  std::string name;
  std::string store;  // its folder and its module
  std::string scheme;
  std::unique_ptr<Site> (*site)();
  Host host = Host::test;
  int pool = 0;  // how many threads its client library may add at any time
};
inline void PrintTo(const StoreCase& row, std::ostream* out) { *out << row.name; }
const std::vector<StoreCase>& all_store_cases();
const std::vector<std::string>& built_stores();  // what this build has
const std::vector<StoreCase>& store_cases();     // the rows of those stores

std::string with_option(std::string url, std::string_view option);  // sets, say, "handover=off"

class World {
 public:
  explicit World(const StoreCase& row);

  std::string url(std::string_view option = {}) const { return with_option(site_->url(), option); }
  // With `release_deadline`, unless the options say something else.
  Store client(const StoreOptions& options = {}, std::string_view option = {}) const;
  const Traits& traits();
  void restart() { site_->restart(); }
  // Ends the lease of this name's holder at the store, without telling the holder. If leases end by
  // a clock, that clock goes ahead by `past_ttl`, which ends all leases of up to 30 s. Such a store
  // sends its waiters no message; jump() their clock, so that they ask again.
  void end_holder(const std::string& name) { site_->end_holder(name); }
  // What the store keeps of this name, read with the store's own client and not with ours: a text
  // for each claim, marker and mark, for a running lock_delay, and for an empty folder. A name's
  // last number is kept on purpose and does not count. A store that exists only in the library
  // (memory) has only its own list.
  std::vector<std::string> left_of(const std::string& name) { return site_->left_of(name); }
  // What it keeps of its clients: sessions, leases, channels. An open client has some.
  std::vector<std::string> left_of_clients() { return site_->left_of_clients(); }
  // Waits until it is so, because a client's withdrawal may still be on its way.
  testing::AssertionResult nothing_left(const std::string& name);
  // The same, except for what stays for a while on purpose: "a mark" of a doubtful withdrawal, for
  // its ttl.
  testing::AssertionResult nothing_left_but(std::string_view what, const std::string& name);
  // After a process was killed: ends what it holds of this name at the store, now or when its turn
  // comes; `wake` makes the others ask again. False if it stays listed there.
  bool bury(
      pid_t killed, const std::string& name,
      const std::function<void()>& wake = [] { jump(past_asking); });
  // `past_renewal`, or the time after which the session behind the lease is proven again.
  Millis renewal_due();
  // Jumps to where this lease, of a client of this process, is due for renewal; true if it is
  // renewed. Also asks the client something, because a jump wakes only timers, but threads prove
  // sessions.
  bool renewed(const Lease& lease, const Store& client) { return renewed(lease, &client); }
  bool renewed(const Lease& lease) { return renewed(lease, nullptr); }
  // The option for a client with leases of that length, for a store whose leases rest on a session.
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
