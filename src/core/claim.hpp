// A claim: one attempt of this process at one name. It belongs to the gate, never to a waiter, so
// when the caller leaves, the gate can give it to the next in line, withdraw it, or confirm it.
//
//   asking → queued → held → owed → gone        owed: a release or withdrawal not yet confirmed
//      ↘ pausing ↗                              pausing: before it sends the same ask again
//                   held → lost → owed          lost: reported to the holders, not yet released
#pragma once

#include <optional>

#include "core/hold.hpp"
#include "core/list.hpp"

namespace holdfast::core {

struct OfGate;
struct OfOutbox;

// What a claim needs only until it is granted.
struct Attempt {
  Ask ask;                       // its name lives in the gate, its `about` in the wish or the terms
  BootTime answered_at;          // when the last ask left that was answered `queued` …
  std::int64_t answered_us = 0;  // … and the store's time in that answer
  Millis early_ttl{};            // what a message granted, maybe before the ask's own answer …
  std::uint64_t early_number = 0;
  std::int64_t early_us = 0;
  std::uint32_t trial = 1;       // how often it was asked, this ask included
  std::optional<Nanos> delay{};  // from the user's next_delay, which must not run under the mutex
  bool early = false;
  bool hurried = false;     // a waiter's deadline cut its own short
  bool look_again = false;  // something changed while the ask was under way

  virtual ~Attempt() = default;  // the runtime adds its call
};

// When a request left, by the boot clock, and how far the wall clock was ahead of it.
struct Sent {
  BootTime at;
  Nanos wall_ahead{};
};

struct Claim : Link<OfGate>, Link<OfOutbox> {
  enum class State : std::uint8_t { asking, queued, pausing, held, lost, owed, gone };
  enum class Order : std::uint8_t { none, ask, renew, drop };

  State state = State::asking;
  Order order = Order::none;   // what waits in the outbox
  bool asking = false;         // an ask is under way
  bool renewal_waits = false;  // a renewal is ordered, but not sent yet
  bool dropping = false;       // a release is under way
  bool doubtful = false;       // an ask got no answer: the store may have it, or may get it later
  bool placed = false;         // the store last said that it has it
  bool releasing = false;      // the first release has no answer yet, and the line waits for it
  bool at_risk = false;
  Said drop_said{};            // the answer to the last release
  std::uint16_t renewals = 0;  // sent and not answered
  std::uint16_t helpers = 0;   // threads that help one of its calls

  std::uint32_t weight = 1;
  std::uint32_t turn = 0;      // of the in-process handover
  std::uint32_t attempts = 0;  // at asking, or at releasing
  ClaimId id{};
  std::shared_ptr<const Wish> wish;  // of the waiter that it was made for
  std::unique_ptr<Attempt> attempt;  // until it is granted
  Drop drop;
  Millis ttl{};  // as granted
  std::uint64_t number = 0;

  BootTime answer_by;    // deadline of the ask or release under way
  BootTime sent_at;      // when the ask under way left, or the last one …
  Nanos wall_at_send{};  // … and how far the wall clock was ahead of the boot clock then
  BootTime proven_at;    // when the newest request left that proved the lease …
  Nanos wall_proven{};   // … and how far the wall clock was ahead of the boot clock then
  BootTime granted_at;
  BootTime until = never;    // when lost() fires: `margin` before the end
  BootTime next_at = never;  // next renewal, ask or drop
  BootTime ends_at = never;  // lost: released by then. owed: forgotten then, unless doubtful

  List<Hold, OfClaim> holds;

  virtual ~Claim() = default;  // the runtime adds its call
  Nanos margin() const noexcept { return margin_of(wish->margin, wish->ttl, ttl); }
  bool under_way() const noexcept { return asking || renewal_waits || renewals > 0 || dropping; }
};

}  // namespace holdfast::core
