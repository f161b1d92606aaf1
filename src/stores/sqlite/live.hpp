// stores/sqlite/live.hpp: which open stores are alive, according to the kernel.
//
// Each open store owns one slot of the file FILE-live. A slot begins with eight bytes of a random
// nonce, and the store locks the first of them. The kernel drops the lock when the process ends,
// however it ends. A store that takes the slot later writes another nonce. So a party (slot, nonce)
// is dead if its byte is not locked or its nonce is not there. Process ids are not used, because
// they mislead across namespaces.
//
// The kernel does not tell when a process ended. So a store that holds something with a lock_delay
// writes the time behind its nonce, ten times a second.
//
// The locks are POSIX ones, not those of an open file description, because a forked child must not
// keep its parent alive. POSIX locks end when the process closes any descriptor of the file, so a
// process opens it once, however many stores it has.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "core/admission.hpp"
#include "stores/sqlite/site.hpp"

namespace holdfast::stores::sqlite {

std::uint64_t random_number();  // from the kernel; never 0

class LiveFile {
 public:
  // The LiveFile of this process for that site, opened or created. Throws Trouble. Every enter()
  // needs a leave().
  static LiveFile& enter(const Site& site);
  void leave() noexcept;

  explicit LiveFile(Descriptor file) noexcept : file_(std::move(file)) {}
  LiveFile(const LiveFile&) = delete;
  LiveFile& operator=(const LiveFile&) = delete;

  // A random id for this file, in its slot 0. Returns 0 if it has none yet.
  std::uint64_t id() const noexcept;
  void set_id(std::uint64_t id) const;

  core::Party take_slot();
  void give_back(const core::Party& party) noexcept;

  // True only if the party is surely dead; never for a party without a place.
  bool dead(const core::Party& party) const noexcept;
  // When the party was last alive, in microseconds; 0: unknown.
  std::int64_t last_beat_us(const core::Party& party) const noexcept;
  void beat(const core::Party& party, std::int64_t now_us) const noexcept;
  // Whether any other process has a slot.
  bool others_live() const noexcept;

 private:
  bool lock(std::uint64_t slot) const;

  const Descriptor file_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> own_;  // slot to nonce; F_GETLK hides our locks
};

// The slot of one open store.
class Life {
 public:
  explicit Life(const Site& site);
  ~Life();
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  const core::Party& party() const noexcept { return party_; }
  static constexpr Millis pace{100};
  void beat(std::int64_t now_us) const noexcept { file_.beat(party_, now_us); }
  const LiveFile& file() const noexcept { return file_; }

 private:
  LiveFile& file_;
  core::Party party_;
};

}  // namespace holdfast::stores::sqlite
