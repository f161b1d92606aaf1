// Goal: to tell who holds one name, an etcd store reads the keys of that name and no others.
// Method: a real server; a proxy counts the bytes of its answers.
#include <gtest/gtest.h>

#include "core/url.hpp"
#include "stores/recorder.hpp"
#include "support/etcd/server.hpp"
#include "support/process.hpp"
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

// A page has 1000 keys, and each of these commands writes 128 of them.
TEST(EtcdHolders, OfAllAreListedForAsLongAsPagesAreAnswered) {
  const EtcdServer server;
  const Store alice = open(server.url()).value();
  const auto lease = alice.lock("name", {.ttl = held_long}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const std::string write =
      "for part in 1 2 3 4 5 6 7 8 9; do { echo; for i in $(seq 128); do "
      "echo put holdfast/1/locks/a$part-$i/note theirs; done; echo; echo; } | "
      "ETCDCTL_API=3 etcdctl --endpoints=" +
      server.address() + " txn >/dev/null || exit 1; done";
  ASSERT_EQ(Process({"sh", "-c", write}).wait(), 0);
  Url url;
  Problem problem;
  ASSERT_TRUE(core::parse_url(server.url(), url, problem)) << problem.text;
  testing_support::Client bob(holdfast_module()->open, url);
  const Listing listing = bob.list_slowly();
  EXPECT_EQ(listing.problem.errc, Errc{}) << listing.problem.text;
  EXPECT_EQ(listing.holders.size(), 1U);
}

}  // namespace
}  // namespace holdfast
