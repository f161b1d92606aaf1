// The dialects of ZooKeeper and etcd and the libraries they are named after contend for the same
// lock, and stand in one line. Skipped, with a message, where a library is not available.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "holdfast/holdfast.hpp"
#include "interop/neighbour.hpp"
#include "support/files.hpp"
#include "support/own_clock.hpp"
#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/witness.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace support;

class Neighbours : public testing::TestWithParam<NeighbourCase> {
 protected:
  static void SetUpTestSuite() { all_ = std::make_unique<Neighbourhood>(); }
  static void TearDownTestSuite() { all_.reset(); }
  void SetUp() override {
    if (!neighbour(0)) GTEST_SKIP() << GetParam().name << " could not be installed";
  }
  void TearDown() override {
    if (HasFailure()) all_->forget(GetParam());
  }

  Neighbour& it() { return *neighbour(0); }
  Neighbour& another(std::size_t nth = 1) {
    if (auto* other = neighbour(nth)) return *other;
    throw std::runtime_error("another one did not start");
  }
  std::string url() const { return with_option(ground.url(), "dialect=" + GetParam().dialect); }
  Lock ours(const std::string& kind = GetParam().kind) const {
    const LockOptions options{.ttl = session, .wait = patient};
    if (kind == "mutex") return alice.lock(name, options);
    const auto both = alice.rw_lock(name, options);
    return kind == "read" ? both.read() : both.write();
  }
  void start(Peer& peer) const { peer.start_acquire(name, peer_kind()); }
  std::string peer_kind() const { return GetParam().kind == "mutex" ? "" : " " + GetParam().kind; }
  testing::AssertionResult in_line(std::size_t many) const {
    if (eventually([&] { return ground.in_line(name) == many; }))
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << ground.in_line(name) << " are in line";
  }

  const Ground& ground = all_->ground(GetParam());
  const std::string name = ground.name(++cases_);
  const Store alice = open(url()).value();

 private:
  Neighbour* neighbour(std::size_t nth) {
    auto* found = all_->neighbour(GetParam(), nth);
    if (found) found->meet(name, GetParam().kind);
    return found;
  }

  static inline std::unique_ptr<Neighbourhood> all_;
  static inline int cases_ = 0;
};

TEST_P(Neighbours, HoldsWhileWeWait) {
  const auto number = it().acquire();
  EXPECT_EQ(number, ground.first(name));
  EXPECT_TRUE(failed(ours().try_acquire(), Errc::busy));
  std::jthread waiter([&] {
    const auto lease = ours().acquire();
    ASSERT_TRUE(succeeded(lease));
    EXPECT_GT(lease->token().value, number);
  });
  ASSERT_TRUE(in_line(2));
  it().release();
}

TEST_P(Neighbours, WaitsWhileWeHold) {
  auto lease = ours().acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_EQ(lease->token().value, ground.first(name));
  it().start_brief_acquire();
  // This dialect renews it as well: by our clock, more than the whole session passes.
  for (int third = 0; third < 3; ++third) {
    const auto left = lease->left();
    jump(session / 3 + Millis(500));
    ASSERT_TRUE(eventually([&] { return lease->left() > left - session / 3; }));
  }
  EXPECT_TRUE(it().busy());
  EXPECT_TRUE(lease->valid());
  it().start_acquire();
  ASSERT_TRUE(in_line(2));
  EXPECT_TRUE(succeeded(lease->release()));
  EXPECT_GT(it().acquired(), lease->token().value);
}

TEST_P(Neighbours, LetsUsInWhenItDies) {
  const auto number = it().acquire();
  std::jthread waiter([&] {
    const auto lease = ours().acquire();
    ASSERT_TRUE(succeeded(lease));
    EXPECT_GT(lease->token().value, number);
  });
  ASSERT_TRUE(in_line(2));
  it().kill();
  ground.end_first(name);
}

TEST_P(Neighbours, GetsInWhenWeDie) {
  Peer we(url());
  start(we);
  const auto token = we.acquired();
  it().start_acquire();
  ASSERT_TRUE(in_line(2));
  we.kill();
  ground.end_first(name);
  EXPECT_GT(it().acquired(), token.value);
  EXPECT_EQ(ground.in_line(name), 1U);
}

// A process that comes too early would hold it for good, and the one before it would wait in vain.
TEST_P(Neighbours, StandsInOneLineWithUs) {
  auto& second = another();
  Peer we(url());
  Peer we_too(url());
  auto lease = ours().acquire();
  ASSERT_TRUE(succeeded(lease));
  it().start_acquire();
  ASSERT_TRUE(in_line(2));
  start(we);
  ASSERT_TRUE(in_line(3));
  second.start_acquire();
  ASSERT_TRUE(in_line(4));
  start(we_too);
  ASSERT_TRUE(in_line(5));

  std::vector<std::uint64_t> numbers = {lease->token().value};
  EXPECT_TRUE(succeeded(lease->release()));
  numbers.push_back(it().acquired());
  it().release();
  numbers.push_back(we.acquired().value);
  EXPECT_EQ(we.ask("release " + name), "released");
  numbers.push_back(second.acquired());
  second.release();
  numbers.push_back(we_too.acquired().value);
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
}

TEST_P(Neighbours, CountsWithUs) {
  constexpr std::size_t each = 4;
  constexpr int rounds = 25;
  const TempFolder folder;
  std::array<Neighbour*, each> neighbours{&it()};
  for (std::size_t nth = 1; nth < each; ++nth) neighbours.at(nth) = &another(nth);
  std::array<std::unique_ptr<Peer>, each> peers;
  for (auto& peer : peers) peer = std::make_unique<Peer>(url());

  for (auto* neighbour : neighbours) neighbour->start_visits(folder.path(), rounds);
  for (const auto& peer : peers)
    peer->send("visit " + name + " " + folder.path().string() + " " + std::to_string(rounds) +
               peer_kind());
  for (auto* neighbour : neighbours) EXPECT_EQ(neighbour->read(), "clean");
  for (const auto& peer : peers) EXPECT_EQ(peer->read(), "clean");
  EXPECT_EQ(Witness(folder.path()).visits(), 2 * static_cast<int>(each) * rounds);
}

TEST_P(Neighbours, ReadsWithUs) {
  if (GetParam().kind == "mutex") GTEST_SKIP() << "it has no readers";
  it().start_acquire("read");
  it().acquired();
  auto reading = ours("read").try_acquire();
  ASSERT_TRUE(succeeded(reading));
  EXPECT_TRUE(failed(ours("write").try_acquire(), Errc::busy));
  auto& writer = another();
  writer.start_acquire("write");
  ASSERT_TRUE(in_line(3));
  EXPECT_TRUE(failed(ours("read").try_acquire(), Errc::busy)) << "a writer waits";
  it().release();
  EXPECT_TRUE(succeeded(reading->release()));
  writer.acquired();
}

INSTANTIATE_TEST_SUITE_P(Of, Neighbours, testing::ValuesIn(neighbour_cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace holdfast
