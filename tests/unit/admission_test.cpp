// Goal: the line of one name lets in the right ones, in order, and never too many.
// Method: each rule by hand, on a clock that the test moves.
#include "core/admission.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;

ClaimId id(std::uint8_t n) { return ClaimId{n}; }
constexpr Party here{1, 11};
constexpr Party there{2, 22};

class Line : public testing::Test {
 protected:
  static Ask mutex(std::uint8_t claim, bool queue = true) {
    Ask ask;
    ask.name = "name";
    ask.claim = id(claim);
    ask.kind = Kind::mutex;
    ask.ttl = 10s;
    ask.queue = queue;
    ask.about = "somebody";
    return ask;
  }
  static Ask shared(std::uint8_t claim, std::uint32_t weight, std::uint32_t capacity = 10) {
    Ask ask = mutex(claim);
    ask.kind = Kind::rw;
    ask.capacity = capacity;
    ask.weight = weight;
    return ask;
  }
  Answer ask(const Ask& ask, const Party& party = here) {
    notices.clear();
    return line.ask(ask, party, now_us, notices);
  }
  Answer renew(std::uint8_t claim, Millis ttl = 10s, std::uint32_t weight = 1) {
    notices.clear();
    return line.renew({"name", id(claim), weight, ttl}, now_us, notices);
  }
  Answer release(std::uint8_t claim, bool doubtful = false) {
    notices.clear();
    return line.release({"name", id(claim), doubtful, 10s}, now_us, notices);
  }
  Answer revoke(bool now) {
    notices.clear();
    return line.revoke(now, now_us, notices);
  }
  void pass(Millis time) { now_us += std::chrono::microseconds(time).count(); }

  Admission line;
  Notices notices;
  std::int64_t now_us = 1'000'000;
};

TEST_F(Line, GrantsAFreeNameAndTellsTheNextItsHolder) {
  const Answer first = ask(mutex(1));
  EXPECT_EQ(first.said, Said::yes);
  EXPECT_EQ(first.number, 1u);
  EXPECT_EQ(first.ttl, 10s);
  EXPECT_EQ(first.store_us, now_us);

  pass(4s);
  const Answer busy = ask(mutex(2, false));
  EXPECT_EQ(busy.said, Said::no);
  EXPECT_EQ(busy.problem.errc, Errc::busy);
  ASSERT_TRUE(busy.holder);
  EXPECT_EQ(busy.holder->who, "somebody");
  EXPECT_EQ(busy.holder->token.value, 1024u);
  EXPECT_EQ(busy.holder->ttl_left, 6s);
  EXPECT_EQ(busy.holder->held_for, 4s);
  EXPECT_EQ(line.entries().size(), 1u);  // a try leaves nothing behind
}

TEST_F(Line, ReleaseGrantsTheNextAndNotifiesJustThatOne) {
  ask(mutex(1));
  EXPECT_EQ(ask(mutex(2), there).said, Said::queued);
  EXPECT_EQ(ask(mutex(3)).said, Said::queued);
  EXPECT_EQ(release(1).said, Said::yes);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].what, Notice::What::granted);
  EXPECT_EQ(notices[0].claim, id(2));
  EXPECT_EQ(notices[0].party, there);
  EXPECT_EQ(notices[0].number, 2u);
  EXPECT_EQ(notices[0].ttl, 10s);
}

TEST_F(Line, OnlyTheHeadIsToldWhenToAskAgain) {
  ask(mutex(1));
  pass(3s);
  EXPECT_EQ(ask(mutex(2)).ttl, 7s);
  EXPECT_EQ(ask(mutex(3)).ttl, 0s);
}

TEST_F(Line, TheHeadIsToldWhenEnoughHoldersWillHaveExpired) {
  ask(shared(1, 4));
  pass(1s);
  ask(shared(2, 4));
  pass(1s);
  EXPECT_EQ(ask(shared(3, 6)).ttl, 8s);  // the first one's 4, and the 2 that are free
  EXPECT_EQ(release(3).said, Said::yes);
  EXPECT_EQ(ask(shared(4, 10)).ttl, 9s);  // both
}

TEST_F(Line, AskingAgainIsTheSameAsk) {
  ask(mutex(1));
  pass(6s);
  const Answer again = ask(mutex(1));
  EXPECT_EQ(again.said, Said::yes);
  EXPECT_EQ(again.number, 1u);
  pass(6s);
  EXPECT_EQ(ask(mutex(2)).said, Said::queued);  // the ttl had started again
  EXPECT_EQ(ask(mutex(2)).said, Said::queued);
  EXPECT_EQ(line.entries().size(), 2u);
  release(1);
  EXPECT_EQ(ask(mutex(2)).number, 2u);  // the notice got lost; the ask tells what happened
}

TEST_F(Line, AnyAskGrantsWhoeverIsFirst) {
  ask(mutex(1));
  Ask patient = mutex(2);
  patient.ttl = 60s;
  ask(patient, there);
  pass(11s);
  EXPECT_EQ(ask(mutex(3)).said, Said::queued);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].claim, id(2));
}

TEST_F(Line, AWaiterThatStoppedAskingIsSkipped) {
  ask(mutex(1));
  ask(mutex(2));
  pass(6s);
  renew(1);
  ask(mutex(3));
  pass(6s);
  release(1);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].claim, id(3));
}

TEST_F(Line, ReadersDoNotOvertakeAWaitingWriter) {
  EXPECT_EQ(ask(shared(1, 1)).said, Said::yes);
  EXPECT_EQ(ask(shared(2, 1)).said, Said::yes);
  EXPECT_EQ(ask(shared(3, 10)).said, Said::queued);
  EXPECT_EQ(ask(shared(4, 1)).said, Said::queued);
  release(1);
  EXPECT_TRUE(notices.empty());
  release(2);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].claim, id(3));
}

TEST_F(Line, AnUnfairAskOvertakesTheLineIfItFits) {
  ask(shared(1, 4));
  ask(shared(2, 10));
  Ask unfair = shared(3, 1);
  unfair.fair = false;
  EXPECT_EQ(ask(unfair).said, Said::yes);
  EXPECT_TRUE(notices.empty());
}

TEST_F(Line, ADowngradeLetsOthersIn) {
  ask(shared(1, 10));
  ask(shared(2, 1), there);
  EXPECT_EQ(renew(1, 10s, 1).said, Said::yes);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].claim, id(2));
  EXPECT_EQ(renew(1, 10s, 10).said, Said::no);  // and it never goes up again
}

TEST_F(Line, RenewalNeverCreates) {
  EXPECT_EQ(renew(1).said, Said::gone);
  ask(mutex(1));
  ask(mutex(2));
  EXPECT_EQ(renew(2).said, Said::gone);  // it waits
  pass(10s);
  EXPECT_EQ(renew(1).said, Said::gone);
}

TEST_F(Line, AnotherKindOrCapacityIsRefusedWhileClaimsLive) {
  ask(mutex(1));
  const Answer answer = ask(shared(2, 1));
  EXPECT_EQ(answer.said, Said::no);
  EXPECT_EQ(answer.problem.errc, Errc::invalid);
  EXPECT_NE(answer.problem.text.find("mutex"), std::string::npos);
  EXPECT_NE(answer.problem.text.find("read-write"), std::string::npos);
  release(1, true);
  EXPECT_EQ(ask(shared(2, 1)).said, Said::yes);  // a mark is no live claim
  EXPECT_EQ(ask(shared(3, 11)).problem.errc, Errc::invalid);
  EXPECT_EQ(ask(shared(3, 0)).problem.errc, Errc::invalid);
}

TEST_F(Line, ADoubtfulDropRefusesALateAskUntilItsTtlHasPassed) {
  EXPECT_EQ(release(1, true).said, Said::gone);
  EXPECT_EQ(ask(mutex(1)).said, Said::gone);
  EXPECT_EQ(ask(mutex(2)).said, Said::yes);
  EXPECT_EQ(release(2, true).said, Said::yes);
  EXPECT_EQ(release(2).said, Said::gone);
  EXPECT_EQ(ask(mutex(2)).said, Said::gone);
  pass(10s);
  EXPECT_EQ(ask(mutex(2)).said, Said::yes);
}

TEST_F(Line, AnAskReplacesADoubtfulClaimInTheSameStep) {
  ask(mutex(1));
  Ask next = mutex(2);
  next.instead = id(1);
  next.instead_ttl = 10s;
  EXPECT_EQ(ask(next).said, Said::yes);
  EXPECT_EQ(ask(mutex(1)).said, Said::gone);
}

TEST_F(Line, AReplacedClaimIsDroppedEvenIfTheAskIsRefused) {
  ask(mutex(1), there);
  ask(mutex(2));
  Ask next = mutex(3, false);
  next.instead = id(2);
  next.instead_ttl = 10s;
  EXPECT_EQ(ask(next).said, Said::no);
  EXPECT_EQ(ask(mutex(2)).said, Said::gone);
}

TEST_F(Line, NobodyEntersUntilTheLockDelayOfADeadHolderIsOver) {
  Ask careful = mutex(1);
  careful.lock_delay = 5s;
  ask(careful, there);
  pass(12s);  // it expired 2 s ago
  const Answer busy = ask(mutex(2, false));
  EXPECT_EQ(busy.said, Said::no);
  EXPECT_EQ(busy.problem.reason, "lock_delay");
  EXPECT_EQ(ask(mutex(3)).ttl, 3s);
  pass(3s);
  EXPECT_EQ(ask(mutex(3)).said, Said::yes);

  careful.claim = id(4);
  release(3);
  ask(careful, there);
  release(4);
  EXPECT_EQ(ask(mutex(5)).said, Said::yes);  // released: no delay
}

TEST_F(Line, WhoLetsGoOfAnEndedClaimEndsItsLockDelay) {
  Ask careful = mutex(1);
  careful.lock_delay = 5s;
  for (const bool doubtful : {false, true}) {
    careful.claim = doubtful ? id(3) : id(1);
    ask(careful, there);
    pass(12s);  // it expired 2 s ago
    EXPECT_EQ(ask(mutex(2)).ttl, 3s);
    EXPECT_EQ(release(doubtful ? 3 : 1, doubtful).said, Said::gone);
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_EQ(notices[0].claim, id(2));
    EXPECT_EQ(ask(careful).said, doubtful ? Said::gone : Said::queued);
    release(1);
    EXPECT_EQ(release(2).said, Said::yes);
  }
}

TEST_F(Line, OfSeveralEndedClaimsEachKeepsTheOthersOut) {
  for (const std::uint8_t claim : {std::uint8_t{1}, std::uint8_t{2}}) {
    Ask careful = shared(claim, 1);
    careful.lock_delay = claim * 5s;
    ask(careful, there);
  }
  pass(12s);
  EXPECT_EQ(ask(shared(3, 1)).ttl, 8s);
  release(2);
  EXPECT_EQ(ask(shared(3, 1)).ttl, 3s);
  release(1);
  EXPECT_EQ(ask(shared(3, 1)).said, Said::yes);
}

TEST_F(Line, WhoAsksAgainAfterItsTimeDoesNotWaitForItsOwnLockDelay) {
  Ask careful = mutex(1);
  careful.lock_delay = 5s;
  ask(careful, there);
  pass(12s);
  EXPECT_EQ(ask(careful, there).number, 2u);
}

TEST_F(Line, ADeadPartyLosesWhatItHeldAndItsPlaces) {
  Ask careful = mutex(1);
  careful.lock_delay = 5s;
  ask(careful, there);
  ask(mutex(2), there);
  ask(mutex(3), here);
  EXPECT_EQ(line.ahead_of(id(2)), std::vector{there});
  EXPECT_EQ(line.ahead_of(id(3)), std::vector{there});
  line.died(there, now_us);
  EXPECT_EQ(ask(mutex(3)).ttl, 5s);
  pass(5s);
  EXPECT_EQ(ask(mutex(3)).said, Said::yes);
}

TEST_F(Line, ARevokedHolderStaysUntilItLetsGo) {
  ask(mutex(1), there);
  ask(mutex(2));
  EXPECT_EQ(revoke(false).said, Said::yes);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].what, Notice::What::gone);
  EXPECT_EQ(notices[0].party, there);
  const Answer told = renew(1);
  EXPECT_EQ(told.said, Said::gone);
  EXPECT_EQ(told.problem.reason, "revoked");
  EXPECT_EQ(ask(mutex(2)).said, Said::queued);
  release(1);
  EXPECT_EQ(ask(mutex(2)).said, Said::yes);
}

TEST_F(Line, ForceGrantsTheNextAtOnce) {
  ask(mutex(1), there);
  ask(mutex(2), here);
  EXPECT_EQ(revoke(true).said, Said::yes);
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].what, Notice::What::gone);
  EXPECT_EQ(notices[1].claim, id(2));
  EXPECT_EQ(renew(1).said, Said::gone);
  EXPECT_EQ(release(1).said, Said::gone);
  release(2);
  EXPECT_EQ(revoke(true).said, Said::gone);
}

TEST_F(Line, TellsAStoreJustWhatChanged) {
  ask(mutex(1));
  EXPECT_TRUE(line.head_changed());
  EXPECT_EQ(line.entries()[0].change, Admission::Change::fresh);
  line.saved();
  ask(mutex(2));
  EXPECT_FALSE(line.head_changed());
  EXPECT_EQ(line.entries()[0].change, Admission::Change::none);
  EXPECT_EQ(line.entries()[1].change, Admission::Change::fresh);
  line.saved();
  release(1);
  EXPECT_TRUE(line.head_changed());  // a number was minted
  ASSERT_EQ(line.removed().size(), 1u);
  EXPECT_EQ(line.removed()[0], 1);
  EXPECT_EQ(line.entries()[0].change, Admission::Change::changed);
  line.saved();
  release(2);
  EXPECT_FALSE(line.head_changed());
  EXPECT_TRUE(line.idle());
}

}  // namespace
}  // namespace holdfast::core
