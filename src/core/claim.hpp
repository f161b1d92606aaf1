// A claim: one attempt of this process at one name. It belongs to the gate, never to a waiter: a
// caller can leave, its claim stays to be given to the next in line, withdrawn, or confirmed.
//
//   asking → queued → held → owed → gone        owed: a release or withdrawal not yet confirmed
//      ↘ pausing ↗                              pausing: before the same ask again
//                   held → lost → owed          lost: told, not yet let go
#pragma once

#include <optional>

#include "core/hold.hpp"
#include "core/list.hpp"

namespace holdfast::core {

struct OfGate;
struct OfOutbox;

// What a claim needs only until it is granted.
struct Attempt {
  Ask ask;                       // its name lives in the gate, its text in the wish
  BootTime answered_at;          // when the last ask that was answered `queued` left …
  std::int64_t answered_us = 0;  // … and the store's time in its answer
  Millis early_ttl{};            // granted by a message before its own ask was answered …
  std::uint64_t early_number = 0;
  std::int64_t early_us = 0;
  std::uint32_t trial = 1;       // how often it was asked, with this ask
  std::optional<Nanos> delay{};  // by the user's policy: that of its own is not called in here
  bool early = false;
  bool hurried = false;     // its deadline was that of a waiter
  bool look_again = false;  // something changed while the ask was under way

  virtual ~Attempt() = default;  // the runtime hangs its call on it
};

// When a request left: by the boot clock, and how far the wall clock was ahead of that.
struct Sent {
  BootTime at;
  Nanos wall_ahead{};
};

struct Claim : Link<OfGate>, Link<OfOutbox> {
  enum class State : std::uint8_t { asking, queued, pausing, held, lost, owed, gone };
  enum class Order : std::uint8_t { none, ask, renew, drop };

  State state = State::asking;
  Order order = Order::none;   // waits in the outbox
  bool asking = false;         // an ask is under way
  bool renewal_waits = false;  // a renewal is ordered, and not sent yet
  bool dropping = false;       // a release is
  bool doubtful = false;       // an ask was not answered: it may be, or yet come, in the store
  bool placed = false;         // it is in the store, as far as we were told
  bool releasing = false;      // its first release is not answered yet: the line waits for that
  bool at_risk = false;
  Said drop_said{};            // what its release was answered
  std::uint16_t renewals = 0;  // sent and not answered
  std::uint16_t helpers = 0;   // threads that stand behind one of its calls

  std::uint32_t weight = 1;
  std::uint32_t turn = 0;      // of the in-process handover
  std::uint32_t attempts = 0;  // of asking, or of releasing
  ClaimId id{};
  std::shared_ptr<const Wish> wish;  // of the waiter it was made for
  std::unique_ptr<Attempt> attempt;  // until it is granted
  Drop drop;
  Millis ttl{};  // as granted
  std::uint64_t number = 0;

  BootTime answer_by;    // deadline of the ask or release under way
  BootTime sent_at;      // t0 of the ask under way, or of the last one
  Nanos wall_at_send{};  // wall clock ahead of boot clock when that left …
  BootTime proven_at;    // t0 of the newest request that proved the lease …
  Nanos wall_proven{};   // … and the wall clock ahead of the boot clock then
  BootTime granted_at;
  BootTime until = never;    // when lost() fires; `margin` before the end
  BootTime next_at = never;  // next renewal, ask or drop
  BootTime ends_at = never;  // lost: let go at the latest. owed: forgiven, unless it is doubtful

  List<Hold, OfClaim> holds;

  virtual ~Claim() = default;  // the runtime hangs its call on it
  Nanos margin() const noexcept { return margin_of(wish->margin, wish->ttl, ttl); }
  bool under_way() const noexcept { return asking || renewal_waits || renewals > 0 || dropping; }
};

}  // namespace holdfast::core
