// Goal: cells count, swap and expire by the server's word alone.
#include "stores/zookeeper_world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class ZooKeeperCells : public testing_support::ZooKeeperWorld {
 protected:
  testing_support::ZooKeeperStoreClient alice{url()};
  testing_support::ZooKeeperStoreClient bob{url()};
  static constexpr std::int64_t most = 1'000'000;
};

TEST_F(ZooKeeperCells, AddWithinBounds) {
  const Add one{"cell", 1, 0, 3};
  for (int i = 1; i <= 3; ++i) EXPECT_EQ((i % 2 ? alice : bob).add(one).number, i);
  const auto full = alice.add(one);
  EXPECT_EQ(full.said, Said::no);
  EXPECT_EQ(full.problem.reason, "bounds");
  EXPECT_EQ(bob.get("cell").number, 3);
  EXPECT_EQ(bob.get("another").version, 0U);
}

TEST_F(ZooKeeperCells, SwapByVersion) {
  const auto made = alice.swap({"cell", 0, "one"});
  ASSERT_EQ(made.said, Said::yes) << made.problem.text;
  EXPECT_EQ(bob.swap({"cell", 0, "two"}).said, Said::no);
  const auto next = bob.swap({"cell", made.version, "two"});
  ASSERT_EQ(next.said, Said::yes);
  EXPECT_EQ(alice.swap({"cell", made.version, "three"}).problem.reason, "changed");
  EXPECT_EQ(alice.get("cell").bytes, "two");
  EXPECT_EQ(alice.get("cell").version, next.version);
}

// A version from before the expiry does not match by accident.
TEST_F(ZooKeeperCells, Expire) {
  const auto made = alice.swap({"cell", 0, "one", 150ms});
  ASSERT_EQ(made.said, Said::yes) << made.problem.text;
  ASSERT_TRUE(eventually([&] { return bob.get("cell").version == 0; }));
  EXPECT_EQ(bob.swap({"cell", made.version, "two"}).said, Said::no);
  const auto again = bob.swap({"cell", 0, "two"});
  ASSERT_EQ(again.said, Said::yes);
  EXPECT_GT(again.version, made.version);
  EXPECT_EQ(alice.add({"window", 1, 0, most, 60s, true}).number, 1);
  EXPECT_EQ(bob.add({"window", 1, 0, most, 60s, true}).number, 2);
}

TEST_F(ZooKeeperCells, OfAnotherHandAreLeftAlone) {
  ASSERT_EQ(alice.add({"cell", 1, 0, most}).said, Said::yes);
  const auto path = node("x").substr(0, node("x").rfind("/locks")) + "/cells/cell";
  raw.set(path, "not ours");
  EXPECT_EQ(alice.add({"cell", 1, 0, most}).problem.errc, Errc::corrupt);
  EXPECT_EQ(alice.get("cell").problem.errc, Errc::corrupt);
  EXPECT_EQ(raw.get(path), "not ours");
}

}  // namespace
}  // namespace holdfast
