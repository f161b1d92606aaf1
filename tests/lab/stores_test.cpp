// Goal: the simulated stores are backends as the contract in backend.hpp requires, and break as the
// real ones do. Method: calls as the core makes them, on virtual time, with one fault each.
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "lab/gate_step.hpp"
#include "lab/stores/store.hpp"

namespace holdfast::lab {
namespace {

template <class R>
struct Heard final : Pending<R> {
  void done(R answer) noexcept override {
    ++times;
    value = std::move(answer);
  }
  R value{};
  int times = 0;
};
template <>
struct Heard<std::span<Answer>> final : Pending<std::span<Answer>> {
  void done(std::span<Answer> answers) noexcept override {
    ++times;
    value.assign(answers.begin(), answers.end());
  }
  Answers value;
  int times = 0;
};

Plan quiet(Shape shape, Memory memory = Memory::kept, bool guard = false) {
  Plan plan;
  plan.seed = 1;
  plan.locks = {{.ttl = Millis(3000)}};
  plan.store.shape = shape;
  plan.store.memory = memory;
  plan.store.guard = guard;
  plan.store.guard_ttl = plan.store.session = Millis(3000);
  plan.store.rates.resize(shape == Shape::single ? 1 : shape == Shape::replicated ? 2 : 3);
  plan.rates.resize(2);
  plan.clients = 0;
  return plan;
}

class Stores : public testing::Test {
 protected:
  void begin(const Plan& of) {
    plan_ = of;
    scene_.emplace(plan_, false);
    for (const auto& process : scene_->processes) process->begin();
  }
  Backend& backend(std::int16_t process) { return scene_->process(process).shop()->backend(); }
  static ClaimId id(std::uint8_t number) { return {number}; }
  void pass(Nanos time) { scene_->world.run(scene_->world.now() + time); }
  void suffer(Fault::Kind kind, std::int16_t node, Nanos length = Millis(100)) {
    Fault fault;
    fault.kind = kind;
    fault.node = node;
    fault.length = length;
    scene_->store->suffer(fault);
  }
  BootTime soon(std::int16_t process) { return scene_->process(process).boot() + Millis(500); }

  Answer ask(std::int16_t process, std::uint8_t claim, bool queue = true) {
    Ask ask;
    ask.name = "lock-0";
    ask.claim = id(claim);
    ask.ttl = Millis(3000);
    ask.queue = queue;
    Heard<Answer> heard;
    heard.deadline = soon(process);
    backend(process).ask(ask, heard);
    pass(Millis(600));
    EXPECT_EQ(heard.times, 1);
    return heard.value;
  }
  Said renew(std::int16_t process, std::uint8_t claim) {
    const Keep keep{"lock-0", id(claim), 1, Millis(3000)};
    Heard<std::span<Answer>> heard;
    heard.deadline = soon(process);
    backend(process).renew({&keep, 1}, heard);
    pass(Millis(600));
    EXPECT_EQ(heard.times, 1);
    return heard.value.at(0).said;
  }
  Said release(std::int16_t process, std::uint8_t claim, bool doubtful = false) {
    const Drop drop{"lock-0", id(claim), doubtful, Millis(3000)};
    Heard<std::span<Answer>> heard;
    heard.deadline = soon(process);
    backend(process).release({&drop, 1}, heard);
    pass(Millis(600));
    EXPECT_EQ(heard.times, 1);
    return heard.value.at(0).said;
  }

  Plan plan_;
  std::optional<Scene> scene_;
};

TEST_F(Stores, GrantQueueHandOverAndExpire) {
  for (const Shape shape : {Shape::single, Shape::sharded, Shape::replicated, Shape::consensus}) {
    begin(quiet(shape));
    const Answer first = ask(0, 1);
    EXPECT_EQ(first.said, Said::yes);
    EXPECT_EQ(ask(1, 2).said, Said::queued);
    EXPECT_EQ(ask(1, 3, false).said, Said::no);
    EXPECT_EQ(release(0, 1), Said::yes);
    const Answer second = ask(1, 2);
    EXPECT_EQ(second.said, Said::yes);
    EXPECT_GT(second.number, first.number);
    EXPECT_EQ(release(0, 2), Said::yes) << "the id is the capability";
    EXPECT_EQ(release(0, 2), Said::gone);
  }
}

// The answer comes once, at the deadline, and says that the outcome is unknown.
TEST_F(Stores, WhoIsNotHeardIsAnsweredUnknown) {
  begin(quiet(Shape::single));
  scene_->network.cut(0, 0, Way::back, true);
  EXPECT_EQ(ask(0, 1).said, Said::unknown);
  scene_->network.cut(0, 0, Way::back, false);
  EXPECT_EQ(ask(1, 2).said, Said::queued) << "it was applied";
  EXPECT_EQ(ask(0, 1).said, Said::yes) << "asking again is the same ask";
}

TEST_F(Stores, ADoubtfulDropRefusesALateAsk) {
  begin(quiet(Shape::single));
  EXPECT_EQ(release(0, 1, true), Said::gone);
  EXPECT_EQ(ask(0, 1).said, Said::gone);
  EXPECT_EQ(ask(0, 2).said, Said::yes);
}

TEST_F(Stores, AClaimEndsByItsTime) {
  begin(quiet(Shape::single));
  EXPECT_EQ(ask(0, 1).said, Said::yes);
  pass(Millis(3000));
  EXPECT_EQ(renew(0, 1), Said::gone);
  EXPECT_EQ(ask(1, 2).said, Said::yes);
}

TEST_F(Stores, ARestartKeepsOrLosesWhatItKnew) {
  const auto renewed_after_crash = [&](Memory memory, Nanos before) {
    begin(quiet(Shape::single, memory));
    EXPECT_EQ(ask(0, 1).said, Said::yes);
    pass(before);
    suffer(Fault::Kind::crash, 0);
    pass(Millis(200));
    return renew(0, 1);
  };
  EXPECT_EQ(renewed_after_crash(Memory::kept, Millis(1)), Said::yes);
  EXPECT_EQ(renewed_after_crash(Memory::lost, Millis(1)), Said::gone);
  EXPECT_EQ(renewed_after_crash(Memory::tail_lost, Millis(1000)), Said::yes)
      << "older than the last second";
}

TEST_F(Stores, TheGuardLetsNobodyNewInAfterAmnesia) {
  begin(quiet(Shape::single, Memory::lost, true));
  const Answer before = ask(0, 1);
  suffer(Fault::Kind::crash, 0);
  pass(Millis(200));
  EXPECT_EQ(ask(1, 2).said, Said::queued);
  pass(Millis(3000));
  const Answer after = ask(1, 2);
  EXPECT_EQ(after.said, Said::yes);
  EXPECT_GT(after.number, before.number) << "numbers follow the clock";
}

TEST_F(Stores, AReplicaTakesOverAndTheMasterComesBackAsOne) {
  begin(quiet(Shape::replicated));
  EXPECT_EQ(ask(0, 1).said, Said::yes);
  suffer(Fault::Kind::failover, 0);
  pass(Millis(300));
  EXPECT_EQ(ask(1, 2).said, Said::queued) << "what had reached it, it knows";
  suffer(Fault::Kind::failover, 0);
  pass(Millis(300));
  EXPECT_EQ(ask(1, 2).said, Said::queued);
  EXPECT_EQ(release(0, 1), Said::yes);
}

TEST_F(Stores, ASessionEndsWithItsSilence) {
  begin(quiet(Shape::consensus));
  EXPECT_EQ(ask(0, 1).said, Said::yes);
  pass(Millis(10'000));
  EXPECT_EQ(renew(0, 1), Said::yes) << "it is kept while there is a claim";
  for (std::int16_t node = 0; node < 3; ++node) scene_->network.cut(0, node, Way::there, true);
  pass(Millis(4000));
  EXPECT_EQ(ask(1, 2).said, Said::yes);
}

TEST_F(Stores, AMinorityAnswersNothing) {
  begin(quiet(Shape::consensus));
  suffer(Fault::Kind::isolate, 0, Millis(60'000));
  EXPECT_EQ(ask(0, 1).said, Said::unknown);
  EXPECT_EQ(ask(0, 1).said, Said::yes) << "by the next node";
  suffer(Fault::Kind::crash, 1, Millis(60'000));
  EXPECT_EQ(ask(1, 2).said, Said::no) << "refused by the dead";
  EXPECT_EQ(ask(1, 2).said, Said::unknown) << "no majority is left";
}

TEST_F(Stores, CellsCountAndSwap) {
  begin(quiet(Shape::single, Memory::lost));
  const auto add = [&](std::int64_t by) {
    Heard<Cell> heard;
    heard.deadline = soon(0);
    backend(0).cells()->add({.name = "stock", .by = by, .least = 0, .most = 5}, heard);
    pass(Millis(600));
    EXPECT_EQ(heard.times, 1);
    return heard.value;
  };
  EXPECT_EQ(add(3).number, 3);
  EXPECT_EQ(add(3).said, Said::no);
  EXPECT_EQ(add(2).number, 5);
  Heard<Cell> got;
  got.deadline = soon(1);
  backend(1).cells()->get("stock", got);
  pass(Millis(600));
  EXPECT_EQ(got.value.number, 5);
  Heard<Cell> swapped;
  swapped.deadline = soon(1);
  backend(1).cells()->swap({.name = "stock", .if_version = got.value.version, .bytes = "x"},
                           swapped);
  pass(Millis(600));
  EXPECT_EQ(swapped.value.bytes, "x");
  suffer(Fault::Kind::crash, 0);
  pass(Millis(200));
  EXPECT_EQ(add(1).number, 1) << "lost with the rest";
}

}  // namespace
}  // namespace holdfast::lab
