// Goal: the nodes are as few, as safe and as tidy as they should be.
// Method: a real server, which the tests inspect and change with a client of their own.
#include <algorithm>
#include <atomic>
#include <thread>

#include "stores/zookeeper_world.hpp"
#include "support/faulty.hpp"
#include "support/proxy.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;
using testing_support::fresh_claim;
using testing_support::ZooKeeperStoreClient;
using Mode = ZooKeeperClient::Mode;

class ZooKeeperNodes : public testing_support::ZooKeeperWorld {};

// A chroot of several parts, none of which exists; nothing is left when all is released.
TEST_F(ZooKeeperNodes, AreMadeWhereTheyAreMissingAndGoWhenTheyAreEmpty) {
  const auto alice = client();
  {
    const auto lease = alice.lock("name").acquire();
    ASSERT_TRUE(succeeded(lease));
    EXPECT_EQ(nodes("name").size(), 1U);
  }
  EXPECT_TRUE(eventually([&] { return !raw.exists(node("name")); }));
  const auto again = alice.lock("name").acquire();  // the container was reaped meanwhile
  EXPECT_TRUE(succeeded(again));
}

// S35
TEST_F(ZooKeeperNodes, OfOthersDoNotCount) {
  const auto alice = client();
  Token last;
  {
    const auto lease = alice.lock("name").acquire();
    ASSERT_TRUE(succeeded(lease));
    last = lease->token();
    for (const auto* garbage : {"garbage", "lock-0000000000", "_c_x-lock-0000000000"})
      raw.create(node("name") + "/" + garbage, std::string(900'000, 'x'));
    raw.create(node("name") + "/00-m1-1-", "", Mode::sequential);
  }
  const auto lease = alice.lock("name").try_acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_GT(lease->token(), last);
  EXPECT_EQ(listed(alice, "name").size(), 1U);
}

TEST_F(ZooKeeperNodes, AreListedForAsLongAsPagesAreAnswered) {
  ASSERT_TRUE(succeeded(client().lock("makes/the/folder").acquire()));
  for (int each = 0; each < 200; ++each) raw.create(node(std::to_string(each)));
  raw.create(node("7") + "/" + std::string(32, '0') + "-m1-1-", "", Mode::sequential);
  ZooKeeperStoreClient bob(url());
  const Listing listing = bob.list_slowly();
  EXPECT_EQ(listing.problem.errc, Errc{}) << listing.problem.text;
  EXPECT_EQ(listing.holders.size(), 1U);
}

TEST_F(ZooKeeperNodes, OfADialectAreToldByTheirPath) {
  for (const auto* dialect : {"curator", "kazoo"}) {
    SCOPED_TRACE(dialect);
    const auto alice = open(url() + "&dialect=" + dialect).value();
    const auto path = "/" + std::string(dialect) + "/name";
    const auto lease = alice.lock(path).acquire();
    ASSERT_TRUE(succeeded(lease));
    const auto holders = alice.holders(path).value();
    ASSERT_EQ(holders.size(), 1U);
    EXPECT_EQ(holders.front().token, lease->token());
    EXPECT_TRUE(failed(alice.holders("/no//path"), Errc::invalid));
  }
}

TEST_F(ZooKeeperNodes, OfOtherNamesAreNotReadForOne) {
  const auto alice = client();
  const auto lease = alice.lock("name").acquire();
  ASSERT_TRUE(succeeded(lease));
  for (int each = 0; each < 300; ++each) raw.create(node("other" + std::to_string(each)));
  support::Proxy proxy(server().port());
  const auto bob = open(url(proxy.address())).value();
  ASSERT_TRUE(bob.holders("to/connect").value().empty());
  const auto before = proxy.counts().reply_bytes;
  EXPECT_EQ(bob.holders("name").value().size(), 1U);
  const auto of_one = proxy.counts().reply_bytes - before;
  EXPECT_EQ(bob.list().value().size(), 1U);
  const auto of_all = proxy.counts().reply_bytes - before - of_one;
  EXPECT_LT(of_one, 1000);  // some answers of a hundred bytes, and a ping
  EXPECT_GT(of_all, 300 * 8);
}

TEST_F(ZooKeeperNodes, HaveGrowingNumbersAlsoWhereTheLockWasDeleted) {
  const auto alice = client();
  Token last;
  for (int round = 0; round < 3; ++round) {
    auto lease = alice.lock("name").acquire();
    ASSERT_TRUE(succeeded(lease));
    EXPECT_GT(lease->token(), last);
    last = lease->token();
    const auto lost = lease->lost();
    for (const auto& path : nodes("name")) raw.remove(path);
    try {
      raw.remove(node("name"));  // its sequence starts again
    } catch (const support::ZooKeeperError& error) {
      EXPECT_EQ(error.code, -101) << "the server, which removes empty ones, was not faster";
    }
    EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  }
}

// The waiter is about to look again, because the one before it has gone. Its withdrawal comes only
// after that look.
TEST_F(ZooKeeperNodes, OfAWaiterWhoseTimeIsOverAreGoneWhateverItWasAbout) {
  constexpr Millis way{100};
  Proxy proxy(server().port());
  const auto alice = client();
  FaultyClient bob(url(proxy.address()));
  ASSERT_TRUE(succeeded(bob.store().lock("to/connect").acquire()));
  for (int round = 0; round < 5; ++round) {
    auto held = alice.lock("name").acquire();
    ASSERT_TRUE(succeeded(held));
    proxy.delay(way);
    bob.inject({.fault = Fault::lost_request, .calls = releases, .count = 4});
    {
      // Its node is there after one way; it looks at that of alice after three.
      std::jthread waiter([&] { (void)bob.store().lock("name").try_acquire_for(way * 7 / 2); });
      EXPECT_TRUE(eventually([&] { return nodes("name").size() == 2; }));
      EXPECT_TRUE(succeeded(held->release()));
    }
    proxy.heal();
    EXPECT_TRUE(eventually([&] { return bob.store().stats().debts == 0; }));
    ASSERT_TRUE(succeeded(take_at_once(alice, "name"))) << "in round " << round;
  }
}

// S36
TEST_F(ZooKeeperNodes, ThatAnAdministratorDeletesFailTheirWaiterOnly) {
  const auto alice = client();
  const auto bob = client();
  const auto carol = client();
  auto held = alice.lock("name").acquire();
  ASSERT_TRUE(succeeded(held));
  const auto first = nodes("name");
  std::jthread failing([&] {
    const auto lease = bob.lock("name").acquire();
    ASSERT_TRUE(failed(lease, Errc::lost));
    EXPECT_EQ(lease.error().reason(), "entry_deleted");
  });
  ASSERT_TRUE(eventually([&] { return nodes("name").size() == 2; }));
  auto second = nodes("name");
  std::erase(second, first.front());
  std::atomic<bool> entered = false;
  std::jthread next([&] { entered = carol.lock("name").acquire().has_value(); });
  ASSERT_TRUE(eventually([&] { return nodes("name").size() == 3; }));
  raw.remove(second.front());
  failing.join();
  EXPECT_FALSE(entered);
  ASSERT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
}

// Each release wakes one waiter, however many there are.
TEST_F(ZooKeeperNodes, OfTwoHundredWaitersWakeOneAtATime) {
  const int waiters = scaled(200);
  std::vector<std::unique_ptr<ZooKeeperStoreClient>> clients;
  std::vector<ClaimId> claims;
  for (int i = 0; i <= waiters; ++i) {
    clients.push_back(std::make_unique<ZooKeeperStoreClient>(url()));
    claims.push_back(fresh_claim());
    ASSERT_EQ(clients[static_cast<std::size_t>(i)]->ask("name", claims.back(), true).said,
              i == 0 ? Said::yes : Said::queued);
  }
  const auto sequence = [](const std::string& path) { return path.substr(path.size() - 10); };
  for (std::size_t i = 0; i < 3; ++i) {
    const auto first = std::ranges::min(nodes("name"), {}, sequence);
    auto watching = server().watchers()[first];
    const auto fired = server().count("sum_node_deleted_watch_count");
    const auto expected = fired + static_cast<long>(watching.size());
    watching.erase(owner_of(first));  // it may watch its own node
    EXPECT_EQ(watching.size(), 1U);
    ASSERT_EQ(clients[i]->release("name", claims[i]).said, Said::yes);
    ASSERT_TRUE(clients[i + 1]->stay_until([&] { return !clients[i + 1]->hints.looks().empty(); }));
    EXPECT_EQ(server().count("sum_node_deleted_watch_count"), expected);
    EXPECT_TRUE(clients[i + 2]->hints.looks().empty());
    EXPECT_EQ(clients[i + 1]->ask("name", claims[i + 1], true).said, Said::yes);
  }
}

// create, getChildren, delete. On a slow machine also the watch on its own node; a sync now and
// then.
TEST_F(ZooKeeperNodes, CostTheServerThreeRequestsAPair) {
  constexpr int pairs = 50;
  ZooKeeperStoreClient alice(url());
  const auto pair = [&] {
    const auto claim = fresh_claim();
    ASSERT_EQ(alice.ask("name", claim).said, Said::yes);
    ASSERT_EQ(alice.release("name", claim).said, Said::yes);
  };
  pair();
  const auto before = server().count("packets_received");
  for (int i = 0; i < pairs; ++i) pair();
  EXPECT_LE(server().count("packets_received") - before, (sanitized ? 5 : 4) * pairs);
}

// X09
TEST_F(ZooKeeperNodes, OfACreatorAreHisAlone) {
  const auto with_login = [&](const std::string& login, const std::string& more) {
    return open("zookeeper://" + login + url().substr(std::string("zookeeper://").size()) + more)
        .value();
  };
  const auto alice = with_login("alice:one@", "&acl=creator");
  auto lease = alice.lock("name").acquire();
  ASSERT_TRUE(succeeded(lease));
  for (const auto& other : {client(), with_login("alice:two@", ""), with_login("bob:one@", "")}) {
    const auto denied = other.lock("name").try_acquire();
    ASSERT_TRUE(failed(denied, Errc::denied));
    EXPECT_EQ(std::string(denied.error().what()).find(":one"), std::string::npos);
  }
  EXPECT_TRUE(failed(with_login("alice:one@", "").lock("name").try_acquire(), Errc::busy));
  EXPECT_TRUE(lease->valid());
}

TEST_F(ZooKeeperNodes, OfWhoIsRefusedAreGoneBeforeItIsTold) {
  const auto held = client().lock("name").acquire();
  ASSERT_TRUE(succeeded(held));
  const auto bob = open(with_option(url(), "session=20s")).value();
  EXPECT_TRUE(failed(bob.lock("name").try_acquire(), Errc::busy));
  EXPECT_EQ(nodes("name").size(), 1U);
}

// The session is long, because its end would tell the holder as well.
TEST_F(ZooKeeperNodes, ThatAreRevokedTellTheirHolder) {
  const auto alice = open(with_option(url(), "session=20s")).value();
  const auto lease = alice.lock("name").acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  ASSERT_TRUE(succeeded(client().revoke("name")));
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }, 10s));
  EXPECT_EQ(nodes("name").size(), 1U);  // It is hers until she lets go.
}

// The server reports a deleted node before the end of the session that it belonged to. Here the
// session lives on, so that it reports only the node.
TEST_F(ZooKeeperNodes, OfAHolderWhoseOwnWasDeletedAreGoneOnceItLetsGo) {
  const auto alice = client();
  auto lease = alice.lock("name", {.lock_delay = held_long}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto both = nodes("name");
  ASSERT_EQ(both.size(), 2U);
  for (const auto& each : both)
    if (owner_of(each) != 0) raw.remove(each);
  EXPECT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
  EXPECT_EQ(nodes("name").size(), 1U);  // The marker, as after a death.
  EXPECT_TRUE(failed(lease->release(), Errc::lost));
  EXPECT_TRUE(eventually([&] { return nodes("name").empty(); }));
  EXPECT_TRUE(succeeded(client().lock("name").try_acquire()));
}

TEST_F(ZooKeeperNodes, TellWhatTheStoreIs) {
  const auto alice = client();
  const auto promise = alice.guarantees();
  ASSERT_TRUE(succeeded(promise));
  EXPECT_EQ(promise->purpose, Purpose::correctness);
  EXPECT_TRUE(promise->tokens && promise->fifo && promise->survives_restart);
  EXPECT_TRUE(succeeded(alice.init()));
  EXPECT_TRUE(raw.exists(node("x").substr(0, node("x").rfind('/'))));
}

}  // namespace
}  // namespace holdfast
