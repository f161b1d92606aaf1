// Goal: the memory store answers at once, shares a world by name, and tells others of its grants.
// Method: directly against the backend, standing in for the core.
#include "stores/memory/memory.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "stores/common/cell.hpp"
#include "stores/recorder.hpp"

namespace holdfast::stores {
namespace {

using namespace testing_support;

Url named(std::string name) {
  Url url;
  url.scheme = "memory";
  url.path = std::move(name);
  return url;
}

class Memory : public testing::Test {
 protected:
  static Url fresh_world() {
    static std::atomic<int> worlds{0};
    return named("test" + std::to_string(++worlds));
  }
  const Url url = fresh_world();
  Client alice{memory_module().open, url};
  Client bob{memory_module().open, url};
};

TEST_F(Memory, HandsOverToAnotherStoreOfTheSameWorld) {
  const ClaimId hers = fresh_claim(), his = fresh_claim();
  EXPECT_EQ(alice.ask("n", hers).number, 1u);
  const Answer queued = bob.ask("n", his, true);
  EXPECT_EQ(queued.said, Said::queued);
  EXPECT_EQ(queued.ttl, 30s);
  EXPECT_TRUE(bob.hints.grants().empty());

  EXPECT_EQ(alice.release("n", hers).said, Said::yes);
  ASSERT_EQ(bob.hints.grants().size(), 1u);
  const auto grant = bob.hints.grants()[0];
  EXPECT_EQ(grant.name, "n");
  EXPECT_EQ(grant.claim, his);
  EXPECT_EQ(grant.answer.said, Said::yes);
  EXPECT_EQ(grant.answer.number, 2u);
  EXPECT_GE(grant.answer.store_us, queued.store_us);
  EXPECT_TRUE(alice.hints.grants().empty());
}

TEST_F(Memory, WorldsOfOtherNamesAreApart) {
  const Url elsewhere = fresh_world();
  Client carol{memory_module().open, elsewhere};
  EXPECT_EQ(alice.ask("n", fresh_claim()).said, Said::yes);
  EXPECT_EQ(carol.ask("n", fresh_claim()).said, Said::yes);
}

TEST_F(Memory, ListsHoldersAndWaitersByName) {
  alice.ask("b", fresh_claim());
  bob.ask("b", fresh_claim(), true);
  alice.ask("a", fresh_claim());
  alice.ask("other", fresh_claim());
  const Listing all = bob.list();
  ASSERT_EQ(all.holders.size(), 4u);
  EXPECT_EQ(all.holders[0].name, "a");
  EXPECT_EQ(all.holders[1].name, "b");
  EXPECT_FALSE(all.holders[1].waits);
  EXPECT_TRUE(all.holders[2].waits);
  EXPECT_EQ(bob.list("oth").holders.size(), 1u);
}

TEST_F(Memory, RevokeTellsTheHolder) {
  const ClaimId hers = fresh_claim();
  alice.ask("n", hers);
  EXPECT_EQ(bob.revoke("n", false).said, Said::yes);
  EXPECT_EQ(alice.hints.gones(), std::vector{hers});
  EXPECT_EQ(alice.renew("n", hers).said, Said::gone);
}

TEST_F(Memory, NumbersGrowAlthoughNamesComeAndGo) {
  std::uint64_t last = 0;
  for (int round = 0; round < 3; ++round) {
    const ClaimId claim = fresh_claim();
    const Answer answer = alice.ask("kept", claim);
    EXPECT_GT(answer.number, last);
    last = answer.number;
    alice.release("kept", claim);
    for (int i = 0; i < 10'000; ++i) {
      const std::string name = "passing" + std::to_string(round) + "/" + std::to_string(i);
      alice.ask(name, claim);
      alice.release(name, claim);
    }
  }
}

TEST_F(Memory, CellsAddSwapAndExpire) {
  EXPECT_EQ(alice.get("c").version, 0u);
  EXPECT_EQ(alice.add({.name = "c", .by = 3, .least = 0, .most = 5}).number, 3);
  EXPECT_EQ(bob.add({.name = "c", .by = 3, .least = 0, .most = 5}).said, Said::no);
  EXPECT_EQ(bob.get("c").number, 3);

  const Cell made = alice.swap({.name = "s", .bytes = "one"});
  EXPECT_EQ(made.said, Said::yes);
  EXPECT_EQ(bob.swap({.name = "s", .bytes = "two"}).said, Said::no);
  const Cell next = bob.swap({.name = "s", .if_version = made.version, .bytes = "two"});
  EXPECT_EQ(next.said, Said::yes);
  EXPECT_GT(next.version, made.version);
  EXPECT_EQ(alice.get("s").bytes, "two");

  const Cell brief = alice.swap({.name = "e", .bytes = "x", .expiry = 1ms});
  EXPECT_TRUE(alice.stay_until([&] { return alice.get("e").version == 0; }));
  EXPECT_EQ(alice.swap({.name = "e", .if_version = brief.version, .bytes = "y"}).said, Said::no);
  EXPECT_NE(alice.swap({.name = "e", .bytes = "y"}).version, brief.version);
}

TEST_F(Memory, CellsCountAWindowFromItsFirstChange) {
  std::optional<CellState> state;
  Add add{.name = "w", .by = 1, .least = 0, .most = 9, .expiry = 10ms, .window = true};
  stores::add(add, state, 1'000, 1);
  stores::add(add, state, 2'000, 1);
  EXPECT_EQ(state->expires_us, 11'000);
  add.window = false;
  stores::add(add, state, 3'000, 1);
  EXPECT_EQ(state->expires_us, 13'000);
}

TEST_F(Memory, RefusesWhatItsUrlCannotMean) {
  Url url_with_host = named("x");
  url_with_host.has_authority = true;
  Client wrong{memory_module().open, url_with_host};
  EXPECT_FALSE(wrong);
  EXPECT_EQ(wrong.problem.errc, Errc::invalid);
  Url url_with_option = named("x");
  url_with_option.options["color"] = "red";
  Client odd{memory_module().open, url_with_option};
  EXPECT_FALSE(odd);
  EXPECT_EQ(odd.problem.reason, "unknown_option");
}

TEST_F(Memory, AStoreMayEndWhileOthersTellItSomething) {
  constexpr int rounds = 2'000;
  std::barrier both(2);
  std::unique_ptr<Client> visitor;
  std::thread closer([&] {
    for (int round = 0; round < rounds; ++round) {
      visitor = std::make_unique<Client>(memory_module().open, url);
      visitor->ask("n", fresh_claim(), true);
      both.arrive_and_wait();
      visitor->close();
      both.arrive_and_wait();
    }
  });
  for (int round = 0; round < rounds; ++round) {
    const ClaimId hers = fresh_claim();
    alice.revoke("n", true);
    alice.ask("n", hers);
    both.arrive_and_wait();
    alice.release("n", hers);
    both.arrive_and_wait();
  }
  closer.join();
}

}  // namespace
}  // namespace holdfast::stores
