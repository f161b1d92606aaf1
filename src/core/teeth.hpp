// Switches of the laboratory, and of nobody else: in every other build they are constants, and the
// branches behind them are gone.
//
// rare(): a branch that is right at any time but seldom taken, forced so that it is met.
// mutated(): a fault that was planted, to prove that the checkers find it.
#pragma once

#include <cstdint>

namespace holdfast::core {

enum class Rare : std::uint8_t {
  renew_early,        // long before it is due
  confirm_handed,     // a grant by message, although it is worth enough
  ask_though_queued,  // at once, although a message will come
  pause_longer,       // before asking again
  lose_grant,         // a message that never came
  lose_look,          // likewise
  keep_no_readers,    // the next reader lines up on its own
  keep_no_turn,       // nothing is handed over inside the process
  drop_with_mark,     // a release that leaves a mark, although nothing is in doubt
  new_session,        // while a process only waits
  answer_late,        // just before nobody would wait for it any more
  count_
};

enum class Mutation : std::uint8_t {
  none,
  // In the gate.
  validity_from_answer,  // a lease counts from the answer on, not from before the request
  handed_from_arrival,   // a grant by message counts from its arrival on
  lost_after_end,        // a millisecond late, not a margin early
  handover_unconfirmed,  // a claim whose release was not answered is given to the next
  withdrawn_id,          // the next ask has the id of a claim that is being withdrawn
  no_withdrawal,         // of the cancelled and timed out
  anybody_enters,        // not only the owner enters again
  endless_handover,      // a process serves itself for ever
  resurrection,          // a renewal that comes after the loss still counts
  ask_anew,              // an ask without an answer is repeated under a new id
  silent_loss,           // nobody is told
  same_turn,             // a handover does not change the token
  debt_forgotten,        // a release is tried once
  reader_joins_writer,   // and shares its claim
  early_grant_dropped,   // a message that overtakes the answer to its ask
  last_first,            // in the line inside the process
  eager_renewal,         // four times as often
  polling,               // instead of waiting for a message
  // In a process.
  wall_clock,  // everything is counted by it
  // In a store.
  release_any,         // whoever holds it is released, not only the claim's own
  renew_any,           // likewise renewed
  renew_creates,       // a claim that is gone is made anew by its renewal
  number_reset,        // numbers are forgotten with the data
  number_second_step,  // the token is minted by a call after the grant
  mark_ignored,        // a late ask is accepted after its withdrawal
  one_too_many,        // one more than the capacity is let in
  newest_first,        // of those in line
  old_session,         // a claim of the session before is taken for one's own
  never_expires,       // a dead holder's claim stays
  told_for_ever,       // whom a message granted it stays, whether it was heard or not
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
