// In etcd's own layout all keys under NAME/ are in line for NAME. So the holders of any
// other name that begins with NAME/ are in that line too.
#include <gtest/gtest.h>

#include "holdfast/holdfast.hpp"
#include "support/etcd/server.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace support;

class EtcdNames : public testing::Test {
 protected:
  const EtcdServer server;
  const Store alice = open(server.url() + "?dialect=etcd").value();
};

TEST_F(EtcdNames, NoneIsTheBeginningOfOneInUse) {
  auto lease = alice.lock("jobs/nightly").acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_TRUE(failed(alice.lock("jobs").try_acquire(), Errc::invalid));
  EXPECT_TRUE(failed(alice.lock("jobs/nightly/part").try_acquire(), Errc::invalid));
  EXPECT_TRUE(succeeded(alice.lock("jobs/night").try_acquire()));
  EXPECT_TRUE(lease->valid());
}

}  // namespace
}  // namespace holdfast
