// Goal: with a client that blocks, each call is answered exactly once and in time, by any thread
// that helps. Method: a store whose work is a function of the test, and threads that help with each
// other's calls.
#include "stores/common/blocking.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <latch>
#include <semaphore>
#include <thread>

#include "stores/recorder.hpp"
#include "support/own_clock.hpp"

namespace holdfast::stores {
namespace {

using namespace testing_support;

void say_yes(Request& request) {
  request.answer([](const auto&, auto& reply) {
    if constexpr (requires { reply.said; }) reply.said = Said::yes;
  });
}

class Counting final : public Blocking {
 public:
  const Traits& traits() const noexcept override { return traits_; }

  std::function<void(std::span<Request>)> work = [](std::span<Request> batch) {
    for (Request& request : batch) say_yes(request);
  };
  std::atomic<int> batches{0};
  std::atomic<int> requests{0};
  std::atomic<int> inside{0};
  std::atomic<int> most_inside{0};
  std::atomic<int> attended{0};
  using Blocking::rouse;

 private:
  void run(std::span<Request> batch) noexcept override {
    const int now_inside = ++inside;
    most_inside = std::max(most_inside.load(), now_inside);
    ++batches;
    requests += static_cast<int>(batch.size());
    work(batch);
    --inside;
  }
  Attended attend() noexcept override {
    ++attended;
    return {};
  }
  Traits traits_;
};

TEST(Blocking, AloneItWorksOnTheCallersThread) {
  Counting store;
  std::thread::id worker;
  store.work = [&](std::span<Request> batch) {
    worker = std::this_thread::get_id();
    for (Request& request : batch) say_yes(request);
  };
  Recorded<Answer> call;
  store.ask(Ask{}, call);
  EXPECT_FALSE(call.finished());
  store.help(&call, in(10s), -1);
  EXPECT_TRUE(call.finished());
  EXPECT_EQ(call.value.said, Said::yes);
  EXPECT_EQ(worker, std::this_thread::get_id());
}

TEST(Blocking, OneHelperDoesTheWorkOfAll) {
  Counting store;
  std::vector<std::unique_ptr<Recorded<Answer>>> calls;
  for (int i = 0; i < 10; ++i) {
    calls.push_back(std::make_unique<Recorded<Answer>>());
    store.ask(Ask{}, *calls.back());
  }
  store.help(calls[3].get(), in(10s), -1);
  EXPECT_EQ(store.batches, 1);
  for (const auto& call : calls) EXPECT_EQ(call->times, 1);
}

TEST(Blocking, ThreadsThatMeetShareBatchesAndEachIsAnsweredOnce) {
  constexpr int threads = 6, rounds = 2'000;
  Counting store;
  {
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&] {
        for (int round = 0; round < rounds; ++round) {
          Recorded<Answer> call;
          store.ask(Ask{}, call);
          store.help(&call, in(10s), -1);
          ASSERT_TRUE(call.finished());
          ASSERT_EQ(call.times, 1);
        }
      });
  }
  EXPECT_EQ(store.requests, threads * rounds);
  EXPECT_EQ(store.most_inside, 1);
}

TEST(Blocking, ACallIsHelpedByAThreadThatDidNotStartIt) {
  Counting store;
  std::vector<std::unique_ptr<Recorded<Answer>>> calls;
  for (int i = 0; i < 400; ++i) calls.push_back(std::make_unique<Recorded<Answer>>());
  std::latch started(1);
  std::jthread helper([&] {
    started.wait();
    for (const auto& call : calls)
      while (!call->finished()) store.help(call.get(), in(20ms), -1);
  });
  started.count_down();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    store.ask(Ask{}, *calls[i]);
    if (i % 2) store.help(calls[i - 1].get(), in(10s), -1);
  }
  helper.join();
  for (const auto& call : calls) EXPECT_EQ(call->times, 1);
}

TEST(Blocking, ARequestStillQueuedAtItsDeadlineIsDefinitelyNotDone) {
  Counting store;
  std::binary_semaphore entered(0), go(0);
  store.work = [&](std::span<Request> batch) {
    entered.release();
    go.acquire();
    for (Request& request : batch) say_yes(request);
  };
  Recorded<Answer> slow;
  store.ask(Ask{}, slow);
  std::jthread runner([&] { store.help(&slow, in(10s), -1); });
  entered.acquire();
  Recorded<Answer> hasty(20ms);
  store.ask(Ask{}, hasty);
  store.help(&hasty, in(10s), -1);
  EXPECT_TRUE(hasty.finished());
  EXPECT_EQ(hasty.value.said, Said::no);
  EXPECT_EQ(hasty.value.problem.errc, Errc::unavailable);
  EXPECT_FALSE(slow.finished());
  go.release();
  runner.join();
  EXPECT_EQ(slow.value.said, Said::yes);
  EXPECT_EQ(store.requests, 1);
}

TEST(Blocking, ASleepingHelperLeavesWhenWokenAndAtItsTime) {
  Counting store;
  std::binary_semaphore entered(0), go(0);
  store.work = [&](std::span<Request> batch) {
    entered.release();
    go.acquire();
    for (Request& request : batch) say_yes(request);
  };
  Recorded<Answer> slow;
  store.ask(Ask{}, slow);
  std::jthread runner([&] { store.help(&slow, in(10s), -1); });
  entered.acquire();
  store.help(&slow, in(5ms), -1);
  EXPECT_FALSE(slow.finished());
  const int wake = eventfd(1, EFD_CLOEXEC);
  store.help(&slow, in(60s), wake);
  EXPECT_FALSE(slow.finished());
  close(wake);
  go.release();
}

TEST(Blocking, WhatABatchLeftUnansweredComesAgain) {
  Counting store;
  store.work = [&](std::span<Request> batch) { say_yes(batch.front()); };
  Recorded<Answer> first, second;
  Recorded<std::span<Answer>> third;
  const Drop drops[2] = {};
  store.ask(Ask{}, first);
  store.ask(Ask{}, second);
  store.release(drops, third);
  store.help(&third, in(10s), -1);
  EXPECT_EQ(store.batches, 3);
  EXPECT_TRUE(first.finished() && second.finished() && third.finished());
  EXPECT_EQ(third.value.size(), 2u);
}

TEST(Blocking, AnAnswerMayStartTheNextCall) {
  Counting store;
  Recorded<Answer> next;
  Recorded<Answer> first;
  first.then = [&] { store.ask(Ask{}, next); };
  store.ask(Ask{}, first);
  store.help(&first, in(10s), -1);
  EXPECT_FALSE(next.finished());
  store.help(&next, in(10s), -1);
  EXPECT_TRUE(next.finished());
}

TEST(Blocking, WhoStaysForMessagesAttendsAgainWhenRoused) {
  Counting store;
  const int wake = eventfd(0, EFD_CLOEXEC);
  std::jthread hand([&] { store.help(nullptr, in(60s), wake); });
  const auto attends = [&](int times) {
    return support::eventually([&] { return store.attended >= times; });
  };
  EXPECT_TRUE(attends(1));
  for (int roused = 1; roused <= 3; ++roused) {
    store.rouse();
    EXPECT_TRUE(attends(1 + roused)) << "roused " << roused << " times";
  }
  eventfd_write(wake, 1);
  hand.join();
  close(wake);
  EXPECT_EQ(store.attended, 4) << "once when it came, and whenever it was roused";
}

TEST(Blocking, SeveralStayForMessagesAndEachLeavesWhenItIsWoken) {
  constexpr int stayers = 3;
  Counting store;
  int wakes[stayers];
  std::atomic<int> left{0};
  std::vector<std::jthread> threads;
  for (int& wake : wakes) {
    wake = eventfd(0, EFD_CLOEXEC);
    threads.emplace_back([&] {
      store.help(nullptr, in(60s), wake);
      ++left;
    });
  }
  while (store.attended < stayers) std::this_thread::yield();
  for (int gone = 0; gone < stayers; ++gone) {
    EXPECT_EQ(left, gone);
    eventfd_write(wakes[gone], 1);
    threads[static_cast<std::size_t>(gone)].join();
    Recorded<Answer> call;
    store.ask(Ask{}, call);  // the threads that stay are not in the way
    store.help(&call, in(10s), -1);
    EXPECT_TRUE(call.finished());
  }
  for (const int wake : wakes) close(wake);
}

// Each page takes longer than the whole call has time for.
TEST(Blocking, AListLastsForAsLongAsItsPagesAreServed) {
  Counting store;
  std::uint64_t pages = 0;
  store.work = [&](std::span<Request> batch) {
    batch.front().answer([&](auto& question, auto& reply) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(question)>, ListNames>) {
        reply.holders.emplace_back();
        question.names = ++pages;
        question.more = pages < 4;
      }
    });
  };
  Recorded<Listing> call;
  std::vector<std::uint64_t> told;
  call.on_page = [&](std::uint64_t keys) {
    told.push_back(keys);
    support::jump(2 * support::patient);
    return in(support::patient);
  };
  store.list("x", call);
  store.help(&call, in(100 * support::patient), -1);
  ASSERT_TRUE(call.finished());
  EXPECT_EQ(call.times, 1);
  EXPECT_EQ(call.value.problem.errc, Errc{}) << call.value.problem.text;
  EXPECT_EQ(call.value.holders.size(), 4U);
  EXPECT_EQ(told, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(store.batches, 4);
}

// Nobody waits for the rest of it.
TEST(Blocking, AListWithoutTimeForItsNextPageEnds) {
  Counting store;
  store.work = [&](std::span<Request> batch) {
    batch.front().answer([&](auto& question, auto&) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(question)>, ListNames>)
        question.more = true;
    });
  };
  Recorded<Listing> call;
  call.on_page = [](std::uint64_t) { return BootTime(); };
  store.list("x", call);
  store.help(&call, in(10s), -1);
  ASSERT_TRUE(call.finished());
  EXPECT_EQ(call.value.problem.errc, Errc::unavailable);
  EXPECT_EQ(store.batches, 1);
}

TEST(Blocking, WhoStaysForMessagesAnswersTheOverdue) {
  Counting store;
  Recorded<Listing> call(10ms);
  store.list("x", call);
  while (!call.finished()) store.help(nullptr, in(1s), -1);
  EXPECT_EQ(call.value.problem.errc, Errc::unavailable);
  EXPECT_EQ(store.requests, 0);
}

}  // namespace
}  // namespace holdfast::stores
