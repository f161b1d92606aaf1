// core/admission.hpp: the line of one name, and which of its claims are granted.
//
// Pure: events and the store's own time (in microseconds) come in, answers and notices go out. The
// memory store keeps one per name. SQLite loads it from its rows, lets it decide, and writes back
// what changed. The laboratory's stores run it on virtual time.
//
//   standing   asked again        renewed        dropped        its time is over
//   waiting    keeps its place    gone           leaves         leaves
//   held       yes, ttl restarts  yes            leaves         leaves; with a lock_delay: ended
//   … revoked  gone               gone           leaves         the same
//   ended      as a newcomer      gone           gone, leaves   forgotten
//   mark       gone               gone           gone, stays    forgotten
//
// An ended claim is a hold that its holder did not release. It keeps everybody out until its
// lock_delay is over, or until its holder releases it after all. A mark refuses late asks with the
// id of a claim whose drop was doubtful.
//
// The line is strict: nobody overtakes a head that does not fit, so readers cannot starve a writer.
// Only an ask with fair = false may. Every step first removes the claims whose time is over, and
// last grants what fits from the head of the line on, no matter who made the step.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/backend.hpp"

namespace holdfast::core {

// Who asked, opaque here: whom to notify, and whose death ends its claims.
struct Party {
  std::uint64_t place = 0;
  std::uint64_t nonce = 0;
  friend bool operator==(const Party&, const Party&) = default;
};

// What a step did to the claims of others.
struct Notice {
  enum class What : std::uint8_t { granted, gone };
  What what{};
  ClaimId claim{};
  Party party;
  std::uint64_t number = 0;
  Millis ttl{};
};
using Notices = std::vector<Notice>;

class Admission {
 public:
  enum class Standing : std::uint8_t { waiting, held, mark, ended };
  enum class Change : std::uint8_t { none, fresh, changed };

  struct Head {
    Kind kind{};
    std::uint32_t capacity = 1;
    std::uint64_t number = 0;  // the last one minted
  };
  struct Entry {
    ClaimId claim{};
    Standing standing{};
    Change change = Change::fresh;
    bool revoked = false;
    std::uint32_t weight = 1;
    std::uint64_t number = 0;
    std::int64_t ttl_us = 0;
    std::int64_t since_us = 0;    // when it got in line, or was granted
    std::int64_t expires_us = 0;  // ended: when its lock_delay is over
    std::int64_t lock_delay_us = 0;
    std::int64_t position = 0;  // its row in the store; grows along the line
    Party party;
    std::string about;

    bool live() const noexcept {
      return standing == Standing::waiting || standing == Standing::held;
    }
  };

  Admission() = default;
  Admission(const Head& head, std::vector<Entry> entries)
      : head_(head), entries_(std::move(entries)) {}

  Answer ask(const Ask& ask, const Party& party, std::int64_t now_us, Notices& notices);
  Answer renew(const Keep& keep, std::int64_t now_us, Notices& notices);
  Answer release(const Drop& drop, std::int64_t now_us, Notices& notices);
  Answer revoke(bool now, std::int64_t now_us, Notices& notices);

  // The party died: what it held or waited for ends. Call it before the step that must see that.
  void died(const Party& party, std::int64_t now_us);
  void expire(std::int64_t now_us);

  // The next number will be above this one: for stores whose numbers follow a clock or a revision.
  void number_above(std::uint64_t number) noexcept;

  // Holders, then waiters, each in order of position. Never tells a claim id.
  std::vector<Holder> describe(std::string_view name, std::int64_t now_us) const;

  // The parties whose death would move this waiting claim: the holders if it is the head, else the
  // waiter before it.
  std::vector<Party> ahead_of(const ClaimId& claim) const;

  // As of the last step or expire(), there is no claim and no delay: only the last number is worth
  // keeping.
  bool idle() const noexcept { return entries_.empty(); }

  const Head& head() const noexcept { return head_; }
  std::span<const Entry> entries() const noexcept { return entries_; }

  // What a store has to write; saved() clears it.
  bool head_changed() const noexcept { return head_changed_; }
  std::span<const std::int64_t> removed() const noexcept { return removed_; }
  void saved() noexcept;

 private:
  Entry* find(const ClaimId& claim) noexcept;
  const Entry* first_of(Standing standing) const noexcept;
  Entry& append(const Ask& ask, const Party& party, std::int64_t now_us);
  void remove(Entry& entry);
  void end_hold(Entry& entry, std::int64_t died_us);
  bool withdraw(const ClaimId& claim, bool doubtful, Millis ttl, std::int64_t now_us);
  bool fits(const Entry& entry) const noexcept;
  void grant(Entry& entry, std::int64_t now_us);
  void settle(std::int64_t now_us, Notices& notices, const ClaimId* silent = nullptr);
  Problem misfit(const Ask& ask) const;
  Holder describe(const Entry& entry, std::string_view name, std::int64_t now_us) const;
  Answer in_line(const Ask& ask, const Entry& mine, std::int64_t now_us) const;
  Answer busy(std::string_view name, std::int64_t now_us) const;
  std::int64_t next_chance(const Entry& waiting, std::int64_t now_us) const;

  Head head_;
  std::vector<Entry> entries_;  // in order of position
  std::vector<std::int64_t> removed_;
  bool head_changed_ = false;
};

}  // namespace holdfast::core
