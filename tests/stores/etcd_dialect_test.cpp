// Goal: dialect=etcd stands in one line with etcdctl, and neither comes in while the other holds.
// Method: the real etcdctl of the machine; tests/interop has the other peers.
#include <gtest/gtest.h>

#include "support/etcd/server.hpp"
#include "support/process.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class EtcdDialect : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<EtcdServer>(); }
  static void TearDownTestSuite() { server_.reset(); }
  EtcdDialect() { server.clear(); }
  std::unique_ptr<Process> etcdctl_lock(const std::string& command) const {
    return std::make_unique<Process>(
        std::vector<std::string>{"etcdctl", "--endpoints=" + server.address(), "lock", "--", name,
                                 "sh", "-c", command},
        std::vector<std::string>{"ETCDCTL_API=3"});
  }
  std::string flag(const char* file) const { return (folder.path() / file).string(); }
  bool is_there(const char* file) const { return std::filesystem::exists(flag(file)); }

  const EtcdServer& server = *server_;
  const TempFolder folder;
  const Store store = open(server.url() + "?dialect=etcd").value();
  const std::string name = "orders/42";

 private:
  static inline std::unique_ptr<EtcdServer> server_;
};

TEST_F(EtcdDialect, EtcdctlWaitsForUs) {
  auto lease = store.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto peer = etcdctl_lock("touch " + flag("entered"));
  ASSERT_TRUE(eventually([&] { return waiting(store, name) == 1; }));
  EXPECT_FALSE(is_there("entered"));
  ASSERT_TRUE(succeeded(lease->release()));
  EXPECT_EQ(peer->wait(), 0);
  EXPECT_TRUE(is_there("entered"));
}

TEST_F(EtcdDialect, WeWaitForEtcdctl) {
  const auto peer = etcdctl_lock("touch " + flag("entered") + "; while [ ! -e " + flag("go") +
                                 " ]; do sleep 0.01; done");
  ASSERT_TRUE(eventually([&] { return is_there("entered"); }));
  EXPECT_TRUE(failed(store.lock(name).try_acquire(), Errc::busy));
  std::atomic<bool> entered = false;
  std::jthread waiter([&] { entered = succeeded(store.lock(name).acquire()); });
  ASSERT_TRUE(eventually([&] { return waiting(store, name) == 1; }));
  EXPECT_FALSE(entered);
  server.ctl({"put", "any", "thing"});
  Process({"touch", flag("go")}).wait();
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
}

TEST_F(EtcdDialect, TheTokenIsTheBareRevision) {
  const auto lease = store.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto key = server.ctl({"get", name + "/", "--prefix", "--write-out=json"});
  EXPECT_NE(key.find("\"create_revision\":" + std::to_string(lease->token().value)), key.npos)
      << key;
}

TEST_F(EtcdDialect, ANameUnderAnotherIsRefused) {
  const auto lease = store.lock("orders").acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto refused = store.lock(name).try_acquire();
  ASSERT_TRUE(failed(refused, Errc::invalid));
  EXPECT_EQ(refused.error().reason(), "prefix");
  EXPECT_TRUE(succeeded(store.lock("orders2").try_acquire()));
}

TEST_F(EtcdDialect, IsAMutexOnly) {
  EXPECT_TRUE(failed(store.semaphore(name, 2).permits(1).acquire(), Errc::unsupported));
}

}  // namespace
}  // namespace holdfast
