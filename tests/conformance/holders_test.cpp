// Goal: the listing of one name has its holders and its waiters, and nothing of any other name.

#include <algorithm>
#include <thread>
#include <vector>

#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Holders : public Conformance {
 protected:
  std::vector<Holder> of(const std::string& one) const { return bob.holders(one).value(); }

  const Store alice = world.client();
  const Store bob = world.client();
};
HOLDFAST_ON_EVERY_STORE(Holders);

TEST_P(Holders, AreToldAsAListTellsThem) {
  const auto lease = alice.lock(name, {.ttl = held_long, .label = "the label"}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto told = of(name);
  ASSERT_EQ(told.size(), 1U);
  const Holder& holder = told.front();
  EXPECT_EQ(holder.name, name);
  EXPECT_EQ(holder.token, lease->token());
  EXPECT_FALSE(holder.waits);
  EXPECT_NE(holder.who.find("the label"), std::string::npos) << holder.who;
  const auto all = bob.list(name).value();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(holder.who, all.front().who);
  EXPECT_EQ(holder.token, all.front().token);
  EXPECT_EQ(holder.weight, all.front().weight);
  EXPECT_EQ(holder.capacity, all.front().capacity);
  EXPECT_EQ(holder.ttl_left.has_value(), all.front().ttl_left.has_value());
  EXPECT_EQ(holder.held_for.has_value(), all.front().held_for.has_value());
}

TEST_P(Holders, ComeBeforeThoseWhoWait) {
  HOLDFAST_NEEDS(queues);
  auto lease = alice.lock(name, {.ttl = held_long}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto other = world.client();
  std::jthread waiter(
      [&] { EXPECT_TRUE(succeeded(other.lock(name).try_acquire_for(2 * patient))); });
  ASSERT_TRUE(eventually([&] { return of(name).size() == 2; }));
  const auto told = of(name);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_FALSE(told[0].waits);
  EXPECT_EQ(told[0].token, lease->token());
  EXPECT_TRUE(told[1].waits);
  EXPECT_TRUE(succeeded(lease->release()));
}

TEST_P(Holders, OfPermitsHaveTheirWeights) {
  HOLDFAST_NEEDS(semaphore);
  const auto two = alice.semaphore(name, 5).permits(2).acquire();
  const auto three = bob.semaphore(name, 5).permits(3).acquire();
  ASSERT_TRUE(succeeded(two));
  ASSERT_TRUE(succeeded(three));
  auto told = of(name);
  ASSERT_EQ(told.size(), 2U);
  std::ranges::sort(told, {}, &Holder::weight);
  EXPECT_EQ(told[0].weight, 2U);
  EXPECT_EQ(told[0].token, two->token());
  EXPECT_EQ(told[1].weight, 3U);
  EXPECT_EQ(told[1].token, three->token());
  for (const Holder& each : told) EXPECT_EQ(each.capacity, 5U);
}

TEST_P(Holders, OfAFreeNameAreNone) {
  EXPECT_TRUE(of(name).empty());
  auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_EQ(of(name).size(), 1U);
  ASSERT_TRUE(succeeded(lease->release()));
  EXPECT_TRUE(of(name).empty());
}

TEST_P(Holders, OfOtherNamesDoNotAppear) {
  std::vector<std::string> others = {"the",        "the/",     "the/nam", "the/names", "the/name/",
                                     "the/name/x", "THE/NAME", "%",       "*"};
  for (int each = 0; each < 91; ++each) others.push_back(name + std::to_string(each));
  std::vector<Lease> leases;
  for (const auto& other : others) leases.push_back(alice.lock(other).acquire().value());
  EXPECT_TRUE(of(name).empty());
  const auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto told = of(name);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.front().token, lease->token());
  for (const auto& other : others) {
    const auto only = of(other);
    ASSERT_EQ(only.size(), 1U) << other;
    EXPECT_EQ(only.front().name, other);
  }
}

TEST_P(Holders, HaveNoPrefixOfTheUrlBeforeTheirNames) {
  const auto ours = world.client({}, "prefix=ours/");
  const auto lease = ours.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto told = ours.holders(name).value();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.front().name, name);
  EXPECT_TRUE(of(name).empty());
  EXPECT_EQ(of("ours/" + name).size(), 1U);
}

TEST_P(Holders, OfABadNameAreRefused) {
  for (const auto& bad : {std::string(), std::string(513, 'n')}) {
    const auto refused = bob.holders(bad);
    EXPECT_TRUE(failed(refused, Errc::invalid));
    EXPECT_EQ(refused.error().reason(), "bad_name");
  }
  const auto ours = world.client({}, "prefix=ours/");
  EXPECT_TRUE(failed(ours.holders(std::string(512, 'n')), Errc::invalid));
}

TEST_P(Holders, OfAnotherProcessAreTold) {
  HOLDFAST_NEEDS(processes);
  Peer peer(world.url());
  peer.acquire(name);
  ASSERT_EQ(of(name).size(), 1U);
  EXPECT_FALSE(of(name).front().waits);
}

}  // namespace
}  // namespace holdfast
