// Goal: threads that help hand over what a client's own threads bring, once and in order; what
// those never bring is answered at its deadline. Method: threads of the test are the client.
#include "stores/common/courier.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "stores/recorder.hpp"

namespace holdfast::stores {
namespace {

using namespace testing_support;
using namespace std::chrono_literals;

Answer yes(std::uint64_t number) {
  Answer answer;
  answer.said = Said::yes;
  answer.number = number;
  return answer;
}

class CourierTest : public testing::Test {
 protected:
  template <class R>
  Courier::Ticket<R> open(Recorded<R>& call, Millis within = 10s, std::size_t count = 0) {
    call.deadline = in(within);
    Courier::Ticket<R> opened;
    courier.start<R>(call, count, [&](auto ticket) { opened = std::move(ticket); });
    return opened;
  }

  RecordingHints hints;
  std::function<BootTime(BootTime)> tick = [](BootTime) { return BootTime::max(); };
  Courier courier{hints, [this](BootTime now) { return tick(now); }};
};

TEST_F(CourierTest, WakesWhoStandsBehindTheCall) {
  Recorded<Answer> call;
  const auto ticket = open(call);
  std::thread client([&] { ticket->answer(yes(7)); });
  courier.help(&call, in(10s), -1);
  client.join();
  ASSERT_TRUE(call.finished());
  EXPECT_EQ(call.value.number, 7U);
}

TEST_F(CourierTest, AnswersACallThatThereIsNoMemoryFor) {
  Recorded<Answer> call;
  call.deadline = in(10s);
  courier.start<Answer>(call, [](const auto&) { throw std::bad_alloc(); });
  courier.help(&call, in(10s), -1);
  ASSERT_TRUE(call.finished());
  EXPECT_EQ(call.value.said, Said::no);
  EXPECT_EQ(call.value.problem.reason, "resource");
}

TEST_F(CourierTest, TheFirstAnswerCounts) {
  Recorded<Answer> call;
  const auto ticket = open(call);
  ticket->answer(yes(1));
  ticket->answer(yes(2));
  EXPECT_TRUE(ticket->answered());
  courier.help(&call, in(10s), -1);
  EXPECT_EQ(call.value.number, 1U);
  EXPECT_EQ(call.times, 1);
}

TEST_F(CourierTest, AListingHasUntilTheDeadlineThatItWasGivenLast) {
  Recorded<Listing> call;
  const auto ticket = open(call, 10s);
  call.on_page = [](std::uint64_t) { return in(100s); };
  ticket->looked_at(5);
  support::jump(50s);
  courier.help(nullptr, BootClock::now(), -1);
  EXPECT_FALSE(call.finished());
  support::jump(60s);
  courier.help(nullptr, BootClock::now(), -1);
  ASSERT_TRUE(call.finished());
  EXPECT_EQ(call.value.problem.reason, "too_slow");
  EXPECT_EQ(ticket->looked_at(6), BootTime());
}

TEST_F(CourierTest, AListingThatNobodyWaitsForEnds) {
  Recorded<Listing> call;
  const auto ticket = open(call);
  call.on_page = [](std::uint64_t) { return BootTime(); };
  ticket->looked_at(5);
  courier.help(nullptr, BootClock::now(), -1);
  EXPECT_TRUE(ticket->answered());
}

TEST_F(CourierTest, AtItsDeadlineItIsUnknownIfItWasSent) {
  Recorded<Answer> sent;
  Recorded<Answer> kept;
  const auto first = open(sent, 20ms);
  const auto second = open(kept, 20ms);
  first->sent();
  second->trouble({Errc::unavailable, "refused", "connection refused"});
  courier.help(&sent, in(10s), -1);
  courier.help(&kept, in(10s), -1);
  EXPECT_EQ(sent.value.said, Said::unknown);
  EXPECT_EQ(sent.value.problem.reason, "too_slow");
  EXPECT_EQ(kept.value.said, Said::no);
  EXPECT_EQ(kept.value.problem.reason, "refused");
}

TEST_F(CourierTest, SeveralAreAllGivenUp) {
  Recorded<std::span<Answer>> call;
  const auto ticket = open(call, 20ms, 3);
  ticket->sent();
  courier.help(&call, in(10s), -1);
  ASSERT_EQ(call.value.size(), 3U);
  for (const Answer& answer : call.value) EXPECT_EQ(answer.said, Said::unknown);
}

TEST_F(CourierTest, HintsKeepTheirPlaceBeforeAnAnswer) {
  Recorded<Answer> call;
  const auto ticket = open(call);
  bool finished_before = true;
  courier.tell([&](Hints&) { finished_before = call.finished(); });
  ticket->answer(yes(1));
  courier.help(&call, in(10s), -1);
  EXPECT_FALSE(finished_before);
}

TEST_F(CourierTest, WhoStaysForMessagesReturnsAfterOne) {
  std::thread client([&] { courier.tell([](Hints& to) { to.look("name"); }); });
  courier.help(nullptr, in(10s), -1);
  client.join();
  EXPECT_EQ(hints.looks(), std::vector<std::string>{"name"});
}

TEST_F(CourierTest, WakeEndsTheStay) {
  const int wake = eventfd(1, EFD_CLOEXEC);
  Recorded<Answer> call;
  const auto ticket = open(call);
  courier.help(&call, in(1h), wake);
  EXPECT_FALSE(call.finished());
  close(wake);
  ticket->answer(yes(1));
  courier.help(nullptr, in(10s), -1);
  EXPECT_TRUE(call.finished());
}

TEST_F(CourierTest, TicksWhenDueAndNotBefore) {
  std::atomic<int> ticks{0};
  BootTime due{};
  tick = [&](BootTime now) {
    EXPECT_GE(now, due);
    due = now + 5ms;
    return ++ticks == 3 ? BootTime::max() : due;
  };
  courier.tick_at(BootClock::now());
  while (ticks < 3) courier.help(nullptr, in(100ms), -1);
  courier.help(nullptr, in(20ms), -1);
  EXPECT_EQ(ticks, 3);
}

TEST_F(CourierTest, AnEarlierTickWakesWhoSleeps) {
  std::atomic<bool> ticked{false};
  tick = [&](BootTime) {
    ticked = true;
    courier.tell([](Hints&) {});
    return BootTime::max();
  };
  std::thread client([&] { courier.tick_at(BootClock::now()); });
  courier.help(nullptr, in(1h), -1);
  client.join();
  EXPECT_TRUE(ticked);
}

// Threads that wait for their own calls, one that stays, and a client that answers in any order.
TEST_F(CourierTest, NobodyIsLeftAsleep) {
  constexpr int threads = 8;
  constexpr int rounds = 300;
  std::mutex mutex;
  std::vector<Courier::Ticket<Answer>> asked;
  std::atomic<int> done{0};
  std::atomic<bool> over{false};

  std::thread client([&] {
    while (!over) {
      std::vector<Courier::Ticket<Answer>> batch;
      {
        const std::lock_guard lock(mutex);
        batch.swap(asked);
      }
      for (auto at = batch.rbegin(); at != batch.rend(); ++at) (*at)->answer(yes(1));
      std::this_thread::yield();
    }
  });
  std::thread hand([&] {
    while (!over) courier.help(nullptr, in(5ms), -1);
  });
  std::vector<std::thread> callers;
  for (int i = 0; i < threads; ++i)
    callers.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        Recorded<Answer> call;
        auto ticket = open(call, 60s);
        {
          const std::lock_guard lock(mutex);
          asked.push_back(std::move(ticket));
        }
        courier.help(&call, in(60s), -1);
        if (call.finished() && call.value.said == Said::yes) ++done;
      }
    });
  for (auto& caller : callers) caller.join();
  over = true;
  hand.join();
  client.join();
  EXPECT_EQ(done, threads * rounds);
}

}  // namespace
}  // namespace holdfast::stores
