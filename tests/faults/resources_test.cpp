// The resource faults of the fault catalogue (R), and L07: what happens when descriptors,
// threads or memory run out, and that none of them runs out by itself.
// Method: a peer process takes them from itself, one by one, until there are enough.

#include "support/files.hpp"
#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class ResourceFaults : public Conformance {
 protected:
  static bool held(const std::string& answer) { return answer.starts_with("held"); }
  static bool unavailable(const std::string& answer) {
    return answer.starts_with("error unavailable");
  }
};
HOLDFAST_ON_EVERY_STORE(ResourceFaults);

TEST_P(ResourceFaults, R01TooFewDescriptorsToBegin) {
  bool refused_once = false;
  for (int limit = 3;; ++limit) {
    SCOPED_TRACE(limit);
    ASSERT_LT(limit, 100);
    Peer peer(world.url());
    ASSERT_EQ(peer.ask("descriptors " + std::to_string(limit)), "ok");
    const auto answer = peer.ask("acquire " + name + " ttl=2000 wait=1000");
    if (held(answer)) break;
    refused_once = true;
    EXPECT_TRUE(unavailable(answer)) << answer;
    ASSERT_EQ(peer.ask("descriptors 256"), "ok");
    ASSERT_TRUE(eventually([&] { return peer.ask("listed " + name) == "0"; }));
    // As soon as there are enough.
    const auto again = peer.ask("acquire " + name + " ttl=2000 wait=1000");
    ASSERT_TRUE(held(again)) << again;
    EXPECT_EQ(peer.ask("release " + name), "released");
  }
  EXPECT_TRUE(refused_once);
}

TEST_P(ResourceFaults, R01NoDescriptorsLeftWhileHolding) {
  Peer peer(world.url());
  peer.acquire(name, "ttl=2000");
  ASSERT_EQ(peer.ask("no_descriptors"), "ok");
  const auto another = peer.ask("acquire " + name + "/2 ttl=2000 wait=1000");
  EXPECT_TRUE(held(another) || unavailable(another)) << another;
  const auto renewals = [&] { return world.renewals(std::stoul(peer.ask("renewed"))); };
  const auto before = renewals();
  ASSERT_TRUE(eventually([&] { return renewals() >= before + 4; }));
  EXPECT_EQ(peer.ask("valid " + name), "yes");
  EXPECT_EQ(peer.ask("release " + name), "released");
}

// Never a lock without its renewer: what has no threads asks the store for nothing.
TEST_P(ResourceFaults, R02NoThreads) {
  Peer peer(world.url());
  ASSERT_EQ(peer.ask("no_threads"), "ok");
  const auto answer = peer.ask("acquire " + name);
  EXPECT_TRUE(unavailable(answer)) << answer;
  if (world.traits().processes) {
    EXPECT_TRUE(listed(world.client(), name).empty());
  }
}

TEST_P(ResourceFaults, R03EachAllocationFailsOnce) {
  Peer peer(world.url());
  peer.acquire(name + "/first");  // What is allocated once and for all is not meant here.
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    ASSERT_LT(nth, 200);
    const auto answer = peer.ask("starve " + std::to_string(nth) + " " + name + " wait=1000");
    if (held(answer)) {
      EXPECT_EQ(peer.ask("release " + name), "released");
    } else {
      EXPECT_TRUE(answer == "bad_alloc" || unavailable(answer)) << answer;
    }
    ASSERT_TRUE(eventually([&] { return peer.ask("listed " + name) == "1"; }))
        << peer.ask("listed " + name) << " instead of the first one alone; after " << answer;
    if (answer.ends_with("unharmed")) break;
  }
}

TEST_P(ResourceFaults, R03EachAllocationOfTheFirstAcquireFailsOnce) {
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    ASSERT_LT(nth, 400);
    Peer peer(world.url());
    const auto answer = peer.ask("starve " + std::to_string(nth) + " " + name + " wait=1000");
    EXPECT_TRUE(held(answer) || answer == "bad_alloc" || unavailable(answer)) << answer;
    if (held(answer)) {
      EXPECT_EQ(peer.ask("release " + name), "released");
    }
    ASSERT_TRUE(eventually([&] { return peer.ask("listed " + name) == "0"; }));
    if (answer.ends_with("unharmed")) break;
  }
}

TEST_P(ResourceFaults, R03EachAllocationOfARefusalFailsOnce) {
  Peer peer(world.url());
  peer.acquire(name, "ttl=2000");
  for (const std::string how : {"wait=0", "wait=20", "permits=1/3"}) {
    for (int nth = 1;; ++nth) {
      SCOPED_TRACE(how + " " + std::to_string(nth));
      ASSERT_LT(nth, 200);
      const auto answer = peer.ask("starve " + std::to_string(nth) + " " + name + " " + how);
      EXPECT_FALSE(held(answer));
      if (answer.ends_with("unharmed")) break;
    }
  }
  EXPECT_EQ(peer.ask("valid " + name), "yes");
  EXPECT_TRUE(eventually([&] { return peer.ask("listed " + name) == "1"; }));
}

// On threads of ours.
TEST_P(ResourceFaults, R03AnAllocationOfARenewalFailsOnce) {
  Peer peer(world.url());
  peer.acquire(name, "ttl=2000");
  const auto renewals = [&] { return world.renewals(std::stoul(peer.ask("renewed"))); };
  for (const int nth : {1, 2, 4, 8, 16, 32}) {
    SCOPED_TRACE(nth);
    ASSERT_EQ(peer.ask("starve_others " + std::to_string(nth)), "ok");
    const auto before = renewals();
    ASSERT_TRUE(
        eventually([&] { return peer.ask("starved") == "yes" || renewals() > before + 2; }));
    const auto after = renewals();
    ASSERT_TRUE(eventually([&] { return renewals() > after; }));
    EXPECT_EQ(peer.ask("valid " + name), "yes");
  }
  EXPECT_EQ(peer.ask("release " + name), "released");
}

TEST_P(ResourceFaults, L07ManyCyclesCostNothing) {
  const auto alice = world.client();
  // As many as there is time for, and so many at least.
  const auto cycle = [&](int least, int most, Millis time) {
    const auto enough = std::chrono::steady_clock::now() + time;
    for (int done = 0; done < least || (done < most && std::chrono::steady_clock::now() < enough);
         ++done)
      EXPECT_TRUE(succeeded(alice.lock(name + std::to_string(done % 100)).acquire()));
  };
  cycle(100, 2000, 3s);
  const auto memory = own_status("VmRSS");
  const auto descriptors = open_descriptors();
  const auto threads = own_status("Threads");
  cycle(scaled(1000), 100'000, 10s);
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LE(own_status("Threads"), threads + GetParam().pool);
  if (!sanitized) {  // A sanitizer keeps what was freed.
    EXPECT_LT(own_status("VmRSS"), memory + 2048);
  }
  EXPECT_TRUE(eventually([&] { return alice.list().value().empty(); }));
}

}  // namespace
}  // namespace holdfast
