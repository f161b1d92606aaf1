// Goal: what is asked of etcd is counted from when it was asked.
// Method: the client alone, and a proxy that keeps an answer back.
#include <gtest/gtest.h>

#include "stores/etcd_talk.hpp"
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
