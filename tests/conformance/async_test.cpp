// Goal: a coroutine waits like a thread, but without one.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "support/detached.hpp"
#include "support/faulty.hpp"
#include "support/files.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Async : public Conformance {};
HOLDFAST_ON_EVERY_STORE(Async);

// Counts outcomes. Coroutines share it, because they may end after the test's scope.
struct Outcome {
  std::atomic<int> granted = 0, cancelled = 0, busy = 0, other = 0;
  std::atomic<int> inside = 0, meetings = 0;
  std::atomic<std::uint64_t> last_token = 0;
  std::atomic<int> tokens_back = 0;

  int ended() const { return granted + cancelled + busy + other; }
  void count(const Result<Lease>& lease) {
    if (lease)
      ++granted;
    else if (lease.error().errc() == Errc::cancelled)
      ++cancelled;
    else if (lease.error().errc() == Errc::busy)
      ++busy;
    else
      ++other;
  }
};

Detached enter(Lock lock, std::stop_token stop, std::shared_ptr<Outcome> outcome) {
  auto lease = co_await lock.acquire_async(std::move(stop));
  if (lease) {
    if (outcome->inside++ > 0) ++outcome->meetings;
    const auto token = lease->token().value;
    if (token != 0 && outcome->last_token.exchange(token) >= token) ++outcome->tokens_back;
    --outcome->inside;
  }
  outcome->count(lease);
}

TEST_P(Async, AFreeLockIsTaken) {
  const auto alice = world.client();
  auto outcome = std::make_shared<Outcome>();
  enter(alice.lock(name), {}, outcome);
  EXPECT_TRUE(eventually([&] { return outcome->granted == 1; }));
  EXPECT_TRUE(world.nothing_left(name));
}

TEST_P(Async, TenThousandWaitWithoutThreads) {
  constexpr int many = 10'000;
  const auto alice = world.client();
  const auto bob = world.client();
  auto outcome = std::make_shared<Outcome>();
  auto held = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  enter(alice.lock(name), {}, outcome);
  ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1 || !world.traits().queues; }));
  const auto threads = own_status("Threads");
  for (int waiter = 1; waiter < many; ++waiter) enter(alice.lock(name), {}, outcome);
  EXPECT_EQ(outcome->ended(), 0);
  EXPECT_LE(own_status("Threads"), threads + GetParam().pool);
  if (GetParam().pool == 0) {
    // A sanitizer has a thread of its own. Those of earlier cases may still be ending.
    EXPECT_TRUE(eventually([&] { return own_status("Threads") <= 8 + (sanitized ? 1 : 0); }));
  }
  ASSERT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(eventually([&] { return outcome->granted == many; }, 3 * patient))
      << outcome->granted;
  EXPECT_EQ(outcome->ended(), many);
  EXPECT_EQ(outcome->meetings, 0);
  EXPECT_EQ(outcome->tokens_back, 0);
  EXPECT_TRUE(world.nothing_left(name));
}

TEST_P(Async, AStopTokenEndsTheWait) {
  const auto alice = world.client();
  auto outcome = std::make_shared<Outcome>();
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  std::stop_source stop, already;
  already.request_stop();
  const auto bob = world.client();
  for (const auto& client : {alice, bob}) {
    enter(client.lock(name), stop.get_token(), outcome);
    enter(client.lock(name), already.get_token(), outcome);
    enter(client.lock(name), {}, outcome);
  }
  ASSERT_TRUE(eventually([&] { return outcome->cancelled == 2; }));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return outcome->cancelled == 4; }));
  EXPECT_EQ(outcome->granted, 0);
  ASSERT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(eventually([&] { return outcome->granted == 2; }));
  EXPECT_TRUE(world.nothing_left_but("a mark", name));
}

TEST_P(Async, ADeadlineEndsTheWait) {
  const auto alice = world.client();
  const auto bob = world.client();
  auto outcome = std::make_shared<Outcome>();
  const auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  EXPECT_TRUE(eventually([&] {  // Tries again if the machine stalled and the store was silent.
    outcome = std::make_shared<Outcome>();
    for (const auto& client : {alice, bob})
      for (const auto wait : {0ms, 50ms, 300ms})
        enter(client.lock(name, {.wait = wait}), {}, outcome);
    EXPECT_TRUE(eventually([&] { return outcome->ended() == 6; }));
    EXPECT_EQ(outcome->granted, 0);
    return outcome->busy == 6;
  }));
  EXPECT_TRUE(eventually([&] { return listed(alice, name).size() == 1; }));
}

TEST_P(Async, StopRacingWithGrantHasOneWinner) {
  const auto alice = world.client();
  const Store others[] = {alice, world.client()};
  for (int round = 0; round < scaled(200); ++round) {
    auto held = alice.lock(name).acquire();
    ASSERT_TRUE(succeeded(held));
    auto outcome = std::make_shared<Outcome>();
    std::stop_source stop;
    enter(others[round % 2].lock(name), stop.get_token(), outcome);
    std::jthread canceller([&] { stop.request_stop(); });
    held->release().value();
    ASSERT_TRUE(eventually([&] { return outcome->ended() == 1; }));
    EXPECT_EQ(outcome->granted + outcome->cancelled, 1);
    ASSERT_TRUE(succeeded(take_at_once(others[(round + 1) % 2], name))) << "in round " << round;
  }
}

// Resumes coroutines only on the thread that calls run().
class Executor {
 public:
  void post(std::coroutine_handle<> handle) {
    const std::lock_guard guard(mutex_);
    ready_.push_back(handle);
  }
  bool run_one() {
    std::coroutine_handle<> handle;
    {
      const std::lock_guard guard(mutex_);
      if (ready_.empty()) return false;
      handle = ready_.front();
      ready_.pop_front();
    }
    handle.resume();
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<std::coroutine_handle<>> ready_;
};

Detached note_thread(Lock lock, std::shared_ptr<std::vector<std::thread::id>> where) {
  const auto lease = co_await lock.acquire_async();
  where->push_back(std::this_thread::get_id());
}

TEST_P(Async, GoesOnAtTheUsersExecutor) {
  auto executor = std::make_shared<Executor>();
  auto where = std::make_shared<std::vector<std::thread::id>>();
  const auto alice = world.client(
      {.resume = [executor](std::coroutine_handle<> handle) { executor->post(handle); }});
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  for (int waiter = 0; waiter < 20; ++waiter) note_thread(alice.lock(name), where);
  EXPECT_TRUE(where->empty());
  ASSERT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(eventually([&] {
    while (executor->run_one()) {
    }
    return where->size() == 20;
  }));
  for (const auto& thread : *where) EXPECT_EQ(thread, std::this_thread::get_id());
}

// A thread that releases or stops never runs what another caller does after its acquire.
TEST_P(Async, IsNeverResumedInsideAnothersCall) {
  const auto alice = world.client();
  auto where = std::make_shared<std::vector<std::thread::id>>();
  auto held = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  note_thread(alice.lock(name), where);
  ASSERT_TRUE(succeeded(held->release()));
  ASSERT_TRUE(succeeded(take_at_once(alice, name)));  // Behind the coroutine in line.
  ASSERT_EQ(where->size(), 1U);
  EXPECT_NE(where->front(), std::this_thread::get_id());
}

// User code that blocks until the test lets it go on.
struct Gatekeeper {
  std::atomic<int> inside = 0;
  std::atomic<bool> open = false;
  void pass() {
    ++inside;
    open.wait(false);
  }
  void let_all_pass() {
    open = true;
    open.notify_all();
  }
};

Detached hang(Lock lock, std::shared_ptr<Gatekeeper> gatekeeper) {
  const auto lease = co_await lock.acquire_async();
  gatekeeper->pass();
}

// For a lease that ends by itself while somebody listens for its loss.
constexpr Millis brief{10'000};

TEST_P(Async, BusyCoroutinesDelayNoLoss) {
  const auto alice = world.client();
  const auto lease = alice.lock(name, {.hold_at_most = brief}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  auto gatekeeper = std::make_shared<Gatekeeper>();
  constexpr int many = 8;
  for (int each = 0; each < many; ++each)
    hang(alice.lock(name + "/" + std::to_string(each)), gatekeeper);
  EXPECT_TRUE(eventually([&] { return gatekeeper->inside >= 4; }));
  jump(brief);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  gatekeeper->let_all_pass();
  EXPECT_TRUE(eventually([&] { return gatekeeper->inside == many; }));
}

TEST_P(Async, ASlowCallbackOfALossDelaysNoOtherLoss) {
  const auto alice = world.client();
  auto gatekeeper = std::make_shared<Gatekeeper>();
  constexpr int many = 8;
  std::vector<Lease> leases;
  std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> callbacks;
  for (int each = 0; each < many; ++each) {
    auto lease = alice.lock(name + "/" + std::to_string(each), {.hold_at_most = brief}).acquire();
    ASSERT_TRUE(succeeded(lease));
    leases.push_back(std::move(*lease));
    callbacks.push_back(std::make_unique<std::stop_callback<std::function<void()>>>(
        leases.back().lost(), [gatekeeper] { gatekeeper->pass(); }));
  }
  jump(brief);
  EXPECT_TRUE(eventually([&] { return gatekeeper->inside == many; }));
  gatekeeper->let_all_pass();
}

// A coroutine's deadline comes on the timer thread, which all leases depend on.
TEST_P(Async, ASlowExecutorDelaysNoLoss) {
  auto gatekeeper = std::make_shared<Gatekeeper>();
  auto outcome = std::make_shared<Outcome>();
  const auto alice = world.client({.resume = [gatekeeper](std::coroutine_handle<> handle) {
    gatekeeper->pass();
    handle.resume();
  }});
  const auto bob = world.client();
  const auto held = bob.lock(name).acquire();
  ASSERT_TRUE(succeeded(held));
  const auto lease = alice.lock("another", {.hold_at_most = brief}).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto lost = lease->lost();
  enter(alice.lock(name, {.wait = brief / 2}), {}, outcome);
  ASSERT_TRUE(eventually([&] { return waiting(bob, name) == 1 || !world.traits().queues; }));
  jump(brief / 2);
  EXPECT_TRUE(eventually([&] { return gatekeeper->inside == 1; }));
  EXPECT_EQ(outcome->ended(), 0);
  jump(brief / 2);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  gatekeeper->let_all_pass();
  EXPECT_TRUE(eventually([&] { return outcome->ended() == 1; }));
}

Detached keep(Lock lock, std::shared_ptr<std::optional<Lease>> lease,
              std::shared_ptr<std::atomic<bool>> done) {
  auto result = co_await lock.acquire_async();
  if (result) lease->emplace(std::move(*result));
  *done = true;
}

// The lease comes from co_await, so its destructor starts the release and does not wait for it.
TEST_P(Async, ALeaseDoesNotBlockItsDestructor) {
  FaultyClient alice(world.url(), {.release_deadline = patient});
  auto lease = std::make_shared<std::optional<Lease>>();
  auto done = std::make_shared<std::atomic<bool>>(false);
  keep(alice.store().lock(name), lease, done);
  ASSERT_TRUE(eventually([&] { return done->load(); }));
  ASSERT_TRUE(lease->has_value());
  EXPECT_TRUE((*lease)->valid());
  alice.inject({.fault = Fault::silence, .calls = releases, .count = for_good});
  lease->reset();
  EXPECT_LE(alice.injected(), 1);  // Waiting until its deadline would have sent many.
  alice.heal();
  jump(6s);  // The silent release times out and is repeated.
  EXPECT_TRUE(succeeded(take_at_once(world.client(), name)));
}

TEST_P(Async, ReentersByOwner) {
  const auto alice = world.client();
  auto outcome = std::make_shared<Outcome>();
  const auto lock = alice.lock(name, {.owner = Owner::fresh()});
  const auto lease = lock.acquire();
  ASSERT_TRUE(succeeded(lease));
  enter(lock, {}, outcome);
  EXPECT_TRUE(eventually([&] { return outcome->granted == 1; }));
  EXPECT_TRUE(lease->valid());
}

TEST_P(Async, TroubleIsAResult) {
  FaultyClient alice(world.url(), {.patience = 500ms});
  auto outcome = std::make_shared<Outcome>();
  enter(alice.store().lock(""), {}, outcome);
  EXPECT_TRUE(eventually([&] { return outcome->other == 1; }));
  alice.inject({.fault = Fault::lost_request, .calls = asks, .count = for_good});
  enter(alice.store().lock(name), {}, outcome);
  EXPECT_TRUE(eventually([&] { return outcome->other == 2; }));
}

}  // namespace
}  // namespace holdfast
