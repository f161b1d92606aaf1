// Answers that take longer than a lease lasts (N13). The sweep over all stores is in
// tests/faults/network_test.cpp.
#include <list>

#include "faults/consensus/keeper.hpp"
#include "holdfast/holdfast.hpp"
#include "support/proxy.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Slow : public testing::TestWithParam<KeeperCase> {
 protected:
  // Puts every server behind a proxy of its own.
  std::string proxied(std::string url) {
    const std::string host = "127.0.0.1:";
    for (auto at = url.find(host); at != url.npos; at = url.find(host, at)) {
      at += host.size();
      const auto end = url.find_first_not_of("0123456789", at);
      const auto port = url.substr(at, end - at);
      proxies.emplace_back(std::stoi(port));
      url.replace(at, port.size(), std::to_string(proxies.back().port()));
    }
    return url;
  }

  const std::unique_ptr<Keeper> keeper = GetParam().make();
  std::list<Proxy> proxies;
};

TEST_P(Slow, AnswersWithdrawTheClaim) {
  const std::string name = "name";
  const Store alice = open(proxied(keeper->url(6s))).value();
  const Store bob = open(keeper->url(6s)).value();
  const LockOptions options{.ttl = 6s};  // An acquire waits a third of that for an answer.
  ASSERT_TRUE(succeeded(alice.lock(name, options).acquire()));  // Connects first.
  for (Proxy& proxy : proxies) proxy.delay(7s);
  const auto lease = alice.lock(name, options).try_acquire();
  ASSERT_TRUE(failed(lease, Errc::unavailable));
  EXPECT_EQ(lease.error().reason(), "too_slow");
  for (Proxy& proxy : proxies) proxy.heal();
  EXPECT_TRUE(succeeded(take_at_once(bob, name)));
  EXPECT_TRUE(eventually([&] { return keeper->left_of(name).empty(); }));
}

HOLDFAST_ON_EVERY_KEEPER(Slow);

}  // namespace
}  // namespace holdfast
