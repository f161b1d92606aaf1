// Goal: cells of an etcd store: bounded sums, versions, expiry in whole seconds.
// Method: a real server, directly against the backend.
#include <gtest/gtest.h>

#include <thread>

#include "core/url.hpp"
#include "stores/recorder.hpp"
#include "support/etcd/server.hpp"
#include "support/eventually.hpp"

namespace holdfast {
namespace {

using namespace testing_support;
using support::EtcdServer;
using support::eventually;

class EtcdCells : public testing::Test {
 protected:
  std::unique_ptr<Client> connect() const {
    Url url;
    Problem problem;
    EXPECT_TRUE(core::parse_url(server.url(), url, problem)) << problem.text;
    return std::make_unique<Client>(holdfast_module()->open, url);
  }
  const EtcdServer server;
  const std::unique_ptr<Client> alice = connect();
};

TEST_F(EtcdCells, AddWithinTheirBounds) {
  EXPECT_EQ(alice->get("n").version, 0U);
  const Cell first = alice->add({.name = "n", .by = 3, .least = 0, .most = 5});
  EXPECT_EQ(first.said, Said::yes);
  EXPECT_EQ(first.number, 3);
  const Cell refused = alice->add({.name = "n", .by = 3, .least = 0, .most = 5});
  EXPECT_EQ(refused.said, Said::no);
  EXPECT_EQ(refused.number, 3);
  EXPECT_EQ(refused.version, first.version);
  EXPECT_GT(alice->add({.name = "n", .by = -3, .least = 0, .most = 5}).version, first.version);
  EXPECT_EQ(alice->get("n").number, 0);
}

TEST_F(EtcdCells, SwapByVersion) {
  const Cell first =
      alice->swap({.name = "b", .if_version = 0, .bytes = std::string_view("a\0 b", 4)});
  ASSERT_EQ(first.said, Said::yes);
  EXPECT_EQ(alice->swap({.name = "b", .if_version = 0, .bytes = "x"}).said, Said::no);
  const Cell second = alice->swap({.name = "b", .if_version = first.version, .bytes = ""});
  EXPECT_EQ(second.said, Said::yes);
  EXPECT_EQ(alice->swap({.name = "b", .if_version = first.version, .bytes = "x"}).said, Said::no);
  EXPECT_EQ(alice->get("b").version, second.version);
}

TEST_F(EtcdCells, OfManyLoseNoChange) {
  constexpr int rounds = 50;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([client = connect()] {
      for (int round = 0; round < rounds; ++round)
        EXPECT_EQ(client->add({.name = "n", .by = 1, .least = 0, .most = 1000}).said, Said::yes);
    });
  threads.clear();
  EXPECT_EQ(alice->get("n").number, 4 * rounds);
}

TEST_F(EtcdCells, ExpireAndAWindowIsNotMadeLonger) {
  ASSERT_EQ(alice->swap({.name = "b", .bytes = "x", .expiry = 1s}).said, Said::yes);
  ASSERT_EQ(alice->add({.name = "w", .by = 1, .most = 9, .expiry = 1s, .window = true}).number, 1);
  bool ended = false;
  EXPECT_TRUE(eventually([&] {
    const Cell cell = alice->add({.name = "w", .by = 0, .most = 9, .expiry = 1s, .window = true});
    ended = cell.number == 0;
    return ended;
  }));
  EXPECT_TRUE(eventually([&] { return alice->get("b").version == 0; }));
}

}  // namespace
}  // namespace holdfast
