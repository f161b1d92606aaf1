// Switches for the laboratory only. In every other build they are constants, and the compiler drops
// the branches behind them.
//
// rare(): forces a branch that is always correct but seldom taken.
// mutated(): plants a fault, to prove that the checkers find it.
#pragma once

#include <cstdint>

namespace holdfast::core {

enum class Rare : std::uint8_t {
  renew_early,        // long before it is due
  confirm_handed,     // asks after a grant by message, although enough of the lease is left
  ask_though_queued,  // asks again at once, although a message will come
  pause_longer,       // before asking again
  lose_grant,         // a message that never comes
  lose_look,          // likewise
  keep_no_readers,    // the next reader lines up on its own
  keep_no_turn,       // hands nothing over inside the process
  drop_with_mark,     // a release leaves a mark, although nothing is in doubt
  new_session,        // while a process only waits
  answer_late,        // just before the caller would give up
  count_
};

enum class Mutation : std::uint8_t {
  none,
  // In the gate.
  validity_from_answer,  // a lease counts from the answer, not from before the request
  handed_from_arrival,   // a grant by message counts from its arrival
  lost_after_end,        // lost() is a millisecond late, not a margin early
  handover_unconfirmed,  // the next waiter gets a claim whose release was not answered
  withdrawn_id,          // the next ask reuses the id of a claim that is being withdrawn
  no_withdrawal,         // of claims whose waiters were cancelled or timed out
  anybody_enters,        // not only the owner re-enters
  endless_handover,      // a process serves itself for ever
  resurrection,          // a renewal that is answered after the loss still counts
  ask_anew,              // an ask without an answer is repeated under a new id
  silent_loss,           // lost() does not fire
  same_turn,             // a handover does not change the token
  debt_forgotten,        // a release is tried only once
  reader_joins_writer,   // and shares its claim
  early_grant_dropped,   // a grant whose message overtakes the answer to the ask
  last_first,            // in the line inside the process
  eager_renewal,         // four times as often
  polling,               // instead of waiting for a message
  // In a process.
  wall_clock,  // all time is counted by it
  // In a store.
  release_any,         // a release ends any claim, not only its own
  renew_any,           // a renewal renews any claim
  renew_creates,       // a renewal creates its claim again if that is gone
  number_reset,        // numbers are lost with the data
  number_second_step,  // a call after the grant mints the token
  mark_ignored,        // a late ask is accepted after its withdrawal
  one_too_many,        // the store grants one more than the capacity
  newest_first,        // the newest claim in line is granted first
  old_session,         // a claim of the session before counts as the process's own
  never_expires,       // a dead holder's claim stays
  told_for_ever,       // a claim granted by message never expires, even if nobody heard it
  count_
};

#ifdef HOLDFAST_LAB
struct Switches {
  Mutation mutation = Mutation::none;
  bool (*rare)(void* asked, Rare branch) = nullptr;
  void* asked = nullptr;
};
extern thread_local Switches switches;  // of the run on this thread
inline bool mutated(Mutation mutation) noexcept { return switches.mutation == mutation; }
inline bool rare(Rare branch) noexcept {
  return switches.rare && switches.rare(switches.asked, branch);
}
#else
constexpr bool mutated(Mutation) noexcept { return false; }
constexpr bool rare(Rare) noexcept { return false; }
#endif

}  // namespace holdfast::core
