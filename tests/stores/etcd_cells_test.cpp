// Goal: cells of an etcd store: bounded sums, versions, expiry in whole seconds.
// Method: a real server, directly against the backend.
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "core/url.hpp"
#include "stores/recorder.hpp"
#include "support/etcd/server.hpp"

namespace holdfast {
namespace {

using namespace testing_support;
using support::EtcdServer;

class EtcdCells : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<EtcdServer>(); }
  static void TearDownTestSuite() { server_.reset(); }
  EtcdCells() { server.clear(); }
  std::unique_ptr<Client> connect() const {
    Url url;
    Problem problem;
    EXPECT_TRUE(core::parse_url(server.url(), url, problem)) << problem.text;
    return std::make_unique<Client>(holdfast_module()->open, url);
  }
  // The lease of a cell, "lease 694d… granted with TTL(60s), remaining(59s)", up to the part that
  // changes by itself.
  std::string lease_of(const std::string& cell) const {
    constexpr std::string_view field = "\"Lease\" : ";
    const auto fields = server.ctl({"get", "holdfast/1/cells/" + cell, "--write-out=fields"});
    std::ostringstream id;
    id << std::hex << std::stoull(fields.substr(fields.find(field) + field.size()));
    const auto lease = server.ctl({"lease", "timetolive", id.str()});
    return lease.substr(0, lease.find(", remaining"));
  }
  void expire(const std::string& cell) const { server.end_first("holdfast/1/cells/" + cell); }

  const EtcdServer& server = *server_;
  const std::unique_ptr<Client> alice = connect();

 private:
  static inline std::unique_ptr<EtcdServer> server_;
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

// The server decides when a lease ends; here it is told to end it.
TEST_F(EtcdCells, ExpireAndAWindowIsNotMadeLonger) {
  const Add one{.name = "w", .by = 1, .most = 9, .expiry = 60s, .window = true};
  ASSERT_EQ(alice->swap({.name = "b", .bytes = "x", .expiry = 60s}).said, Said::yes);
  EXPECT_NE(lease_of("b").find("TTL(60s)"), std::string::npos) << lease_of("b");
  ASSERT_EQ(alice->add(one).number, 1);
  const auto first = lease_of("w");
  EXPECT_NE(first.find("TTL(60s)"), std::string::npos) << first;
  ASSERT_EQ(alice->add(one).number, 2);
  EXPECT_EQ(lease_of("w"), first);
  expire("w");
  EXPECT_EQ(alice->add(one).number, 1);
  EXPECT_EQ(alice->get("b").bytes, "x");
  expire("b");
  EXPECT_EQ(alice->get("b").version, 0U);
}

}  // namespace
}  // namespace holdfast
