// core/admission.hpp: the line before one name, and who of it is let in.
//
// Pure: what happens and the store's own time (in microseconds) come in, answers and notices go
// out. The memory store keeps one per name; SQL stores load it from their rows, let it decide, and
// write back what changed; the laboratory's stores run it on virtual time.
//
//   standing   asked again        renewed          dropped         its time is over
//   waiting    keeps its place    gone             leaves          skipped
//   held       yes, ttl restarts  yes (revoked:    leaves          leaves; with a lock_delay: ended
//                                 gone)
//   ended      as a newcomer      gone             gone            forgotten
//   mark       gone               gone             gone            forgotten
//
// An ended claim is a hold that its holder did not let go of. It keeps everybody out until its
// lock_delay is over, or until its holder lets go after all.
//
// The line is strict: nobody overtakes a head that does not fit, so readers cannot starve a writer.
// Only an ask with fair = false may. Every step first drops whose time is over and in the end lets
// in whoever is first, whoever made the step.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/backend.hpp"

namespace holdfast::core {

// Who asked: opaque here. Whom to notify, and whose death ends its claims.
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
    std::int64_t since_us = 0;    // in line, or held, since then
    std::int64_t expires_us = 0;  // ended: when its lock_delay is over
    std::int64_t lock_delay_us = 0;
    std::int64_t position = 0;  // its row; grows along the line
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

  // The party died: what it held or waited for ends. Called before the step that shall see it.
  void died(const Party& party, std::int64_t now_us);
  void expire(std::int64_t now_us);

  // The next number will be above this one: for stores whose numbers follow a clock or a revision.
  void number_above(std::uint64_t number) noexcept;

  // Holders in order of their grants' places, then those in line; nothing else, and no claim id.
  std::vector<Holder> describe(std::string_view name, std::int64_t now_us) const;

  // Whose death would move this waiting claim: the holders if it is the head, else the one before
  // it.
  std::vector<Party> ahead_of(const ClaimId& claim) const;

  // Nothing lives here and nothing is delayed, as of the last step or expire(): all that is worth
  // keeping is the last number.
  bool idle() const noexcept { return entries_.empty(); }

  const Head& head() const noexcept { return head_; }
  std::span<const Entry> entries() const noexcept { return entries_; }

  // What a store has to write; saved() starts anew.
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
