// Goal: to tell who holds one name, an etcd store reads the keys of that name and no others.
// Method: a real server; the bytes of its answers are counted by a proxy.
#include <gtest/gtest.h>

#include "support/etcd/server.hpp"
#include "support/proxy.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace support;

TEST(EtcdHolders, OfOtherNamesAreNotReadForOne) {
  const EtcdServer server;
  const Store alice = open(server.url()).value();
  std::vector<Lease> leases;
  for (int each = 0; each < 200; ++each)
    leases.push_back(alice.lock("name" + std::to_string(each)).acquire().value());
  leases.push_back(alice.lock("name").acquire().value());
  Proxy proxy(server.port());
  const Store bob = open("etcd://" + proxy.address()).value();
  ASSERT_TRUE(bob.holders("to/connect").value().empty());
  const auto before = proxy.counts().reply_bytes;
  EXPECT_EQ(bob.holders("name").value().size(), 1U);
  const auto of_one = proxy.counts().reply_bytes - before;
  EXPECT_EQ(bob.list("name").value().size(), leases.size());
  const auto of_all = proxy.counts().reply_bytes - before - of_one;
  EXPECT_LT(of_one, 2000);
  EXPECT_GT(of_all, 200 * 100);
}

// The keys of a name that lies below another begin with that other name too.
TEST(EtcdHolders, OfANameBelowAnotherAreNotTold) {
  const EtcdServer server;
  for (const std::string option : {"", "?dialect=etcd"}) {
    SCOPED_TRACE(option);
    server.clear();
    const Store above = open(server.url() + option).value();
    const Store below = open(server.url() + option).value();
    const auto first = above.lock("orders").acquire();
    const auto second = below.lock("orders/42").acquire();
    ASSERT_TRUE(succeeded(first));
    ASSERT_TRUE(succeeded(second));
    server.ctl({"put", "orders/note", "theirs"});
    server.ctl({"put", "holdfast/1/locks/orders/note", "theirs"});
    const auto holders = above.holders("orders").value();
    ASSERT_EQ(holders.size(), 1U);
    EXPECT_EQ(holders.front().token, first->token());
    EXPECT_EQ(above.holders("orders/42").value().size(), 1U);
    EXPECT_EQ(above.list("orders").value().size(), 2U);
  }
}

}  // namespace
}  // namespace holdfast
