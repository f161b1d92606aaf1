// The resource faults of docs/faults.md (R), and L07: what happens when descriptors, threads or
// memory run out, and that none of them leaks.
// Method: a peer process limits what it has, and is given one more at a time until it has enough.

#include <malloc.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include "faults/outlives.hpp"
#include "support/faulty.hpp"
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

  std::string name_of(int worker) const { return name + "/" + std::to_string(worker); }

  // Tries one number after the other, until one is enough: several at once, because most of them
  // wait for an answer that never comes.
  static void try_each(int from, int below,
                       const std::function<bool(int worker, int number)>& is_enough) {
    std::atomic<int> next = from;
    std::atomic<bool> enough = false;
    {
      std::vector<std::jthread> workers;
      for (int worker = 0; worker < 4; ++worker)
        workers.emplace_back([&, worker] {
          for (int number = next++; number < below && !enough; number = next++) {
            const testing::ScopedTrace trace(__FILE__, __LINE__, number);
            if (is_enough(worker, number)) enough = true;
          }
        });
    }
    EXPECT_TRUE(enough);
  }

  // Calls that will fail wait just long enough for a store to be called silent.
  static constexpr auto in_vain = " wait=600";
};
HOLDFAST_ON_EVERY_STORE(ResourceFaults);

TEST_P(ResourceFaults, R01TooFewDescriptorsToBegin) {
  std::atomic<bool> refused_once = false;
  try_each(3, 100, [&](int worker, int limit) {
    const auto wanted = name_of(worker);
    Peer peer(world.url());
    EXPECT_EQ(peer.ask("descriptors " + std::to_string(limit)), "ok");
    const auto answer = peer.ask("acquire " + wanted + in_vain);
    if (held(answer)) return peer.ask("release " + wanted) == "released";
    refused_once = true;
    EXPECT_TRUE(unavailable(answer)) << answer;
    EXPECT_EQ(peer.ask("descriptors 256"), "ok");
    EXPECT_TRUE(eventually([&] { return peer.ask("listed " + wanted) == "0"; }));
    const auto again = peer.ask("acquire " + wanted);  // Now there are enough.
    EXPECT_TRUE(held(again)) << again;
    EXPECT_EQ(peer.ask("release " + wanted), "released");
    return false;
  });
  EXPECT_TRUE(refused_once);
}

TEST_P(ResourceFaults, R01NoDescriptorsLeftWhileHolding) {
  Peer peer(world.url());
  peer.acquire(name);
  ASSERT_EQ(peer.ask("no_descriptors"), "ok");
  const auto another = peer.ask("acquire " + name + "/2" + in_vain);
  EXPECT_TRUE(held(another) || unavailable(another)) << another;
  EXPECT_TRUE(outlives_its_ttl(peer, name, world));
  EXPECT_EQ(peer.ask("valid " + name), "yes");
  EXPECT_EQ(peer.ask("release " + name), "released");
}

// Never a lock without a thread to renew it: a process without threads asks the store for nothing.
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
  std::map<int, Peer> peers;
  for (int worker = 0; worker < 4; ++worker) {
    auto& peer = peers.try_emplace(worker, world.url()).first->second;
    peer.acquire(name_of(worker) + "/first");  // One-time allocations are not the subject.
  }
  try_each(1, 200, [&](int worker, int nth) {
    auto& peer = peers.at(worker);
    const auto wanted = name_of(worker);
    const auto answer = peer.ask("starve " + std::to_string(nth) + " " + wanted + in_vain);
    if (held(answer)) {
      EXPECT_EQ(peer.ask("release " + wanted), "released");
    } else {
      EXPECT_TRUE(answer == "bad_alloc" || unavailable(answer)) << answer;
    }
    EXPECT_TRUE(eventually([&] { return peer.ask("listed " + wanted) == "1"; }))
        << peer.ask("listed " + wanted) << " instead of the first one alone; after " << answer;
    return held(answer) && answer.ends_with("unharmed");
  });
}

TEST_P(ResourceFaults, R03EachAllocationOfTheFirstAcquireFailsOnce) {
  try_each(1, 400, [&](int worker, int nth) {
    const auto wanted = name_of(worker);
    Peer peer(world.url());
    const auto answer = peer.ask("starve " + std::to_string(nth) + " " + wanted + in_vain);
    EXPECT_TRUE(held(answer) || answer == "bad_alloc" || unavailable(answer)) << answer;
    if (held(answer)) {
      EXPECT_EQ(peer.ask("release " + wanted), "released");
    }
    EXPECT_TRUE(eventually([&] { return peer.ask("listed " + wanted) == "0"; }));
    return held(answer) && answer.ends_with("unharmed");
  });
}

TEST_P(ResourceFaults, R03EachAllocationOfARefusalFailsOnce) {
  Peer peer(world.url());
  peer.acquire(name);
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

// Allocations of our own threads. Whichever fails, the next attempt makes up for it.
TEST_P(ResourceFaults, R03AnAllocationOfARenewalFailsOnce) {
  const bool by_claim = world.traits().validity == Validity::claim;
  std::vector<std::jthread> holders;
  for (const int nth : {1, 2, 4, 8, 16, 32}) {
    holders.emplace_back([&, nth] {
      const testing::ScopedTrace trace(__FILE__, __LINE__, nth);
      const auto wanted = name_of(nth);
      Peer peer(world.url());
      peer.acquire(wanted);
      EXPECT_EQ(peer.ask("starve_others " + std::to_string(nth)), "ok");
      const auto starved = [&] { return peer.ask("starved") == "yes"; };
      const auto renewed = [&] { return left(peer, wanted) > lasts(world) * 2 / 3; };
      const auto renewed_again = [&] {
        peer.ask("jump " + std::to_string(past_renewal.count()));
        if (!eventually(renewed, 300ms) && by_claim) peer.ask("jump 3000");
        return eventually(renewed);
      };
      for (int due = 0; due < 3 && !starved(); ++due) EXPECT_TRUE(renewed_again());
      EXPECT_TRUE(renewed_again());
      EXPECT_EQ(peer.ask("valid " + wanted), "yes");
      EXPECT_EQ(peer.ask("release " + wanted), "released");
    });
  }
}

TEST_P(ResourceFaults, L07ManyCyclesCostNothing) {
  const auto alice = world.client();
  const auto cycle = [&](int count) {
    for (int done = 0; done < count; ++done)
      EXPECT_TRUE(succeeded(alice.lock(name + std::to_string(done % 100)).acquire()));
  };
  cycle(200);
  const auto memory = own_status("VmRSS");
  const auto heap = mallinfo2().uordblks;
  const auto descriptors = open_descriptors();
  const auto threads = own_status("Threads");
  cycle(scaled(4000));
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LE(own_status("Threads"), threads + GetParam().pool);
  if (!sanitized) {  // A sanitizer keeps what was freed.
    EXPECT_LT(own_status("VmRSS"), memory + 2048);
    // Less than the smallest allocation per cycle; but a client library may keep some for later.
    const std::size_t kept = GetParam().pool > 0 ? 400 : 100;
    EXPECT_LT(mallinfo2().uordblks, heap + kept * 1024);
  }
  for (int each = 0; each < 100; ++each)
    EXPECT_TRUE(world.nothing_left(name + std::to_string(each)));
}

// Keeps twice as many processes busy as there are processors, and all of our threads come last.
class Starved {
 public:
  Starved() {
    for (unsigned each = 0; each < 2 * std::thread::hardware_concurrency(); ++each)
      spinners_.push_back(
          std::make_unique<Process>(std::vector<std::string>{"sh", "-c", "while :; do :; done"}));
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(std::stoul(thread.path().filename())), 19);
  }

 private:
  std::vector<std::unique_ptr<Process>> spinners_;
};

class ResourceFaultsClock : public ResourceFaults {};
HOLDFAST_ON_EVERY_STORE(ResourceFaultsClock);

// The default margin is enough. That of a session would be one second, in which a busy machine may
// do many other things.
TEST_P(ResourceFaultsClock, R07AStarvedHolderIsToldOfItsLossBeforeTheEnd) {
  if (world.traits().validity != Validity::claim) GTEST_SKIP() << "this store has a short session";
  FaultyClient alice(world.url());
  const Starved starved;
  const BootTime began = BootClock::now();
  const auto lease = alice.store().lock(name, {.ttl = 180s}).acquire();
  ASSERT_TRUE(succeeded(lease));
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
  std::atomic<BootTime> told{};
  const std::stop_callback on_loss(lease->lost(), [&] { told = BootClock::now(); });
  jump(lease->left() - 2s);
  EXPECT_TRUE(lease->valid());
  ASSERT_TRUE(eventually([&] { return told.load() != BootTime(); }));
  EXPECT_FALSE(lease->valid());
  const auto before_the_end = began + 180s - told.load();
  EXPECT_GT(before_the_end, 0s);
  RecordProperty("ms before the end", std::to_string(before_the_end / Millis(1)));
}

}  // namespace
}  // namespace holdfast
