// Goal: no store of this build is left out of the suite.

#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace support;

TEST(Rows, EveryBuiltStoreHasOne) {
  for (const auto& store : built_stores())
    EXPECT_GT(std::ranges::count(store_cases(), store, &StoreCase::store), 0) << store;
}

TEST(Rows, AnUnknownSchemeIsRefusedAndTheKnownOnesAreNamed) {
  for (const auto* url : {"nosuch:x", "nosuch://host/x"}) {
    const auto store = open(url);
    ASSERT_TRUE(failed(store, Errc::invalid)) << url;
    for (const auto& known : built_stores())
      EXPECT_NE(store.error().message().find(known), std::string::npos) << store.error().what();
  }
  for (const auto* url : {"", ":", "x", "://", "//", " memory:", "mem ory:", "memory\n:"})
    EXPECT_TRUE(failed(open(url), Errc::invalid)) << url;
}

class Row : public Conformance {};
HOLDFAST_ON_EVERY_STORE(Row);

TEST_P(Row, OpensTheStoreItIsNamedAfter) {
  EXPECT_EQ(world.traits().scheme, GetParam().store);
  const auto store = world.client();
  EXPECT_TRUE(succeeded(store.init()));
  EXPECT_TRUE(store.list().value().empty());
  EXPECT_EQ(store.url().substr(0, GetParam().scheme.size()), GetParam().scheme);
}

TEST_P(Row, GivesEachTestAWorldOfItsOwn) {
  World other(GetParam());
  const auto lease = world.client().lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_TRUE(succeeded(other.client().lock(name).try_acquire()));
}

}  // namespace
}  // namespace holdfast
