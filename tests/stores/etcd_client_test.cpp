// Goal: what is asked of etcd is counted from when it was asked.
// Method: the client alone, and a proxy that keeps an answer back.
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "stores/common/flow.hpp"
#include "stores/etcd/client.hpp"
#include "support/etcd/server.hpp"
#include "support/proxy.hpp"

namespace holdfast::stores::etcd {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Deaf final : public Watching {
 public:
  void opened(WatchId, std::int64_t) noexcept override {}
  void changed(WatchId, const Change&) noexcept override {}
  void closed(WatchId) noexcept override {}
};

template <class R>
Flow pass_on(Later<R> later, std::shared_ptr<std::promise<R>> to) {
  to->set_value(co_await later);
}

template <class R>
R answer_of(const Later<R>& later) {
  const auto answer = std::make_shared<std::promise<R>>();
  pass_on(later, answer);
  return answer->get_future().get();
}

class EtcdClient : public testing::Test {
 protected:
  static Options options(const std::string& address) {
    Options options;
    options.addresses = {address};
    return options;
  }
  ~EtcdClient() override { client.close(); }

  const EtcdServer server;
  Proxy proxy{server.port()};
  Deaf deaf;
  Client client{options(proxy.address()), deaf, [](BootTime) {}};
  const BootTime deadline = BootClock::now() + patient;
};

TEST_F(EtcdClient, AKeepAliveCountsFromWhenItWasSent) {
  const LeaseGranted lease = answer_of(client.grant(60s, deadline));
  ASSERT_TRUE(lease.done());
  ASSERT_TRUE(answer_of(client.keep(lease.lease, deadline)).done());  // Its stream is open.
  proxy.hold(Way::replies);
  const BootTime before = BootClock::now();
  const auto later = client.keep(lease.lease, deadline);
  const BootTime sent = BootClock::now();
  proxy.heal();
  const LeaseKept kept = answer_of(later);
  ASSERT_TRUE(kept.done());
  EXPECT_GE(kept.sent, before);
  EXPECT_LE(kept.sent, sent);
}

}  // namespace
}  // namespace holdfast::stores::etcd
