// Goal: an answer of etcd counts from when its request was sent.
// Method: the client alone, and a proxy that holds an answer back.
#include <gtest/gtest.h>

#include "core/url.hpp"
#include "stores/etcd_talk.hpp"
#include "stores/recorder.hpp"
#include "support/etcd/server.hpp"
#include "support/proxy.hpp"

namespace holdfast::stores::etcd {
namespace {

using namespace std::chrono_literals;
using namespace support;

class EtcdClient : public testing::Test {
 protected:
  const EtcdServer server;
  Proxy proxy{server.port()};
  Talk client{{proxy.address()}};
  const BootTime deadline = BootClock::now() + patient;
};

TEST_F(EtcdClient, AKeepAliveCountsFromWhenItWasSent) {
  const LeaseGranted lease = answer_of(client->grant(60s, deadline));
  ASSERT_TRUE(lease.done());
  ASSERT_TRUE(answer_of(client->keep(lease.lease, deadline)).done());  // Its stream is open.
  proxy.hold(Way::replies);
  const BootTime before = BootClock::now();
  const auto later = client->keep(lease.lease, deadline);
  const BootTime sent = BootClock::now();
  proxy.heal();
  const LeaseKept kept = answer_of(later);
  ASSERT_TRUE(kept.done());
  EXPECT_GE(kept.sent, before);
  EXPECT_LE(kept.sent, sent);
}

}  // namespace
}  // namespace holdfast::stores::etcd

namespace holdfast {
namespace {

using namespace testing_support;

// The second renewal finds a keep-alive of its lease under way, and shares its answer.
TEST(EtcdRenewal, CountsFromWhenItsKeepAliveWasSent) {
  const support::EtcdServer server;
  support::Proxy proxy(server.port());
  Url url;
  Problem problem;
  ASSERT_TRUE(core::parse_url("etcd://" + proxy.address(), url, problem)) << problem.text;
  Client alice(holdfast_module()->open, url);
  const ClaimId claim = fresh_claim();
  ASSERT_EQ(alice.ask("name", claim).said, Said::yes);
  const Keep keep{"name", claim, 1, 30s};
  bool shared = false;
  for (int trial = 0; !shared && trial < 10; ++trial) {  // Again if this machine stood still.
    const long before = server.streams("LeaseKeepAlive").requests;
    Recorded<std::span<Answer>> first, second;
    proxy.hold(support::Way::replies);
    alice.backend().renew({&keep, 1}, first);
    support::jump(200ms);
    alice.backend().renew({&keep, 1}, second);
    proxy.heal();
    for (auto* call : {&first, &second}) {
      alice.backend().help(call, in(support::patient), -1);
      ASSERT_EQ(call->value.size(), 1U);
      ASSERT_EQ(call->value[0].said, Said::yes);
    }
    shared = server.streams("LeaseKeepAlive").requests == before + 1;
    if (shared) {
      EXPECT_LE(second.value[0].ttl, 29800ms);
    }
  }
  EXPECT_TRUE(shared);
}

}  // namespace
}  // namespace holdfast
