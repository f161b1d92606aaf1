// Goal: events tell what happened, in order; counters agree with them; a handler can neither break
// nor delay anything.

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/diary.hpp"
#include "support/faulty.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Events : public Conformance {
 protected:
  const Diary diary{};
};
HOLDFAST_ON_EVERY_STORE(Events);

TEST_P(Events, TellTheLifeOfALeaseInOrder) {
  const auto alice = world.client(diary.options());
  auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto token = lease->token();
  ASSERT_TRUE(world.renewed(*lease, alice));
  const bool told = world.traits().validity == Validity::claim;
  ASSERT_TRUE(eventually([&] { return !told || diary.count(name, Event::Kind::renewed) > 0; }));
  ASSERT_TRUE(succeeded(lease->release()));
  ASSERT_TRUE(eventually([&] { return diary.count(name, Event::Kind::released) == 1; }));
  const auto events = diary.of(name);
  EXPECT_EQ(events.front().kind, Event::Kind::acquired);
  EXPECT_EQ(events.back().kind, Event::Kind::released);
  EXPECT_GT(events.back().after, 0ms);
  for (const auto& event : events) EXPECT_EQ(event.token, token);
}

TEST_P(Events, TellHandovers) {
  HOLDFAST_NEEDS(handovers);
  const auto alice = world.client(diary.options());
  EXPECT_TRUE(eventually([&] {
    auto held = alice.lock(name).acquire();
    std::jthread waiter([&] { EXPECT_TRUE(succeeded(alice.lock(name).acquire())); });
    std::this_thread::yield();
    held->release().value();
    waiter.join();
    return diary.count(name, Event::Kind::handed_over) > 0;
  }));
  EXPECT_GT(alice.stats().handed_over, 0U);
}

TEST_P(Events, TellALoss) {
  FaultyClient alice(world.url(), diary.options());
  const auto lease = alice.store().lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
  jump(world.renewal_due());
  ASSERT_TRUE(eventually([&] {
    (void)alice.store().list("nobody");
    return diary.count(name, Event::Kind::at_risk) == 1;
  }));
  jump(past_ttl);
  ASSERT_TRUE(eventually([&] { return diary.count(name, Event::Kind::lost) == 1; }));
  EXPECT_EQ(diary.count(name, Event::Kind::at_risk), 1);
  EXPECT_EQ(alice.store().stats().lost, 1U);
  EXPECT_EQ(alice.store().stats().at_risk, 1U);
}

TEST_P(Events, AreCounted) {
  const auto alice = world.client();
  const auto bob = world.client();
  {
    const auto lease = alice.lock(name).acquire();
    ASSERT_TRUE(succeeded(lease));
    EXPECT_TRUE(failed(bob.lock(name).try_acquire(), Errc::busy));
    EXPECT_TRUE(failed(bob.lock(name).try_acquire_for(shortly), Errc::busy));
    std::stop_source stop;
    std::jthread waiter(
        [&] { EXPECT_TRUE(failed(bob.lock(name).acquire(stop.get_token()), Errc::cancelled)); });
    ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1 || !world.traits().queues; }));
    stop.request_stop();
  }
  const auto ours = alice.stats();
  const auto theirs = bob.stats();
  EXPECT_EQ(ours.acquired, 1U);
  EXPECT_EQ(ours.released, 1U);
  EXPECT_GE(ours.asks, 1U);
  EXPECT_GE(ours.drops, 1U);
  EXPECT_EQ(ours.lost + ours.busy + ours.cancelled + ours.unavailable, 0U);
  EXPECT_EQ(theirs.acquired, 0U);
  EXPECT_EQ(theirs.busy, 2U);
  EXPECT_EQ(theirs.cancelled, 1U);
}

// One ask and one drop: a free lock costs no more (and no renewal, if it is held briefly).
TEST_P(Events, AFreeLockCostsTwoCalls) {
  FaultyClient alice(world.url());
  for (int round = 1; round <= 10; ++round) {
    EXPECT_TRUE(succeeded(alice.store().lock(name).acquire()));
    EXPECT_EQ(alice.seen(changes), 2 * round);
  }
}

TEST_P(Events, AHandlerThatThrowsIsCountedAndLivesOn) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  const auto alice = world.client({.on_event = [calls](const Event&) {
    ++*calls;
    throw std::runtime_error("from the handler");
  }});
  for (int round = 0; round < 3; ++round) EXPECT_TRUE(succeeded(alice.lock(name).acquire()));
  EXPECT_TRUE(eventually([&] { return *calls >= 6; }));
  EXPECT_TRUE(eventually([&] { return alice.stats().handlers_threw >= 6; }));
}

// One handler of a loss sleeps. Meanwhile another lease is lost, and a third is still renewed.
TEST_P(Events, ASlowHandlerOfALossDelaysNobody) {
  FaultyClient alice(world.url(world.session(6s)));
  const auto bob = world.client();
  const auto first = alice.store().lock(name, {.ttl = 6s}).acquire();
  const auto second = alice.store().lock(name + "/2", {.ttl = 6s}).acquire();
  const auto third = bob.lock(name + "/3").acquire();
  ASSERT_TRUE(first && second && third);
  std::atomic<bool> hangs = false, go_on = false, told = false;
  {
    const std::stop_callback slow(first->lost(), [&] {
      hangs = true;
      go_on.wait(false);
    });
    const std::stop_callback quick(second->lost(), [&] { told = true; });
    alice.inject({.fault = Fault::lost_request, .calls = keeping, .count = for_good});
    jump(7s);
    EXPECT_TRUE(eventually([&] { return hangs && told; }));
    for (int round = 0; round < 3; ++round) EXPECT_TRUE(world.renewed(*third, bob));
    go_on = true;
    go_on.notify_all();
  }
}

// The queue is bounded: a handler that hangs loses events, not memory, and not the lock.
TEST_P(Events, AHandlerThatHangsDoesNotHoldUpTheLock) {
  auto go_on = std::make_shared<std::atomic<bool>>(false);
  const auto alice = world.client({.on_event = [go_on](const Event&) { go_on->wait(false); }});
  for (int round = 0; round < scaled(500); ++round)
    ASSERT_TRUE(succeeded(alice.lock(name).acquire()));
  EXPECT_EQ(alice.stats().acquired, static_cast<std::uint64_t>(scaled(500)));
  *go_on = true;
  go_on->notify_all();
}

TEST_P(Events, AHandlerMayUseTheStore) {
  auto inner = std::make_shared<std::atomic<int>>(0);
  auto store = std::make_shared<std::optional<Store>>();
  store->emplace(world.client({.on_event = [inner, store, outer = name](const Event& event) {
    if (event.kind == Event::Kind::acquired && event.name == outer)
      *inner += (*store)->lock("from/the/handler").try_acquire().has_value();
  }}));
  EXPECT_TRUE(succeeded((*store)->lock(name).acquire()));
  EXPECT_TRUE(eventually([&] { return *inner == 1; }));
  ASSERT_TRUE(succeeded((*store)->close(patient)));
  store->reset();
}

}  // namespace
}  // namespace holdfast
