// stores/sqlite/live.hpp: who lives, told by the kernel.
//
// Each open store owns one slot of the file FILE-live: eight bytes with a random nonce, the first
// of them locked. The kernel drops the lock when the process ends, however it ends; a slot that
// somebody else took has another nonce. So a party (slot, nonce) is dead if its byte is not locked
// or its nonce is not there. No process id is judged: they lie across namespaces.
//
// The kernel does not say when that was. So a store that holds something with a lock_delay writes
// the time behind its nonce, ten times a second.
//
// The locks are POSIX ones, not those of an open file description: a forked child must not keep its
// parent alive. They end when any descriptor of the file is closed by the process, so a process
// opens it once, however many stores it has.
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
  // The one of this process for that site; opened or created. Throws Trouble. Each is to be left.
  static LiveFile& enter(const Site& site);
  void leave() noexcept;

  explicit LiveFile(Descriptor file) noexcept : file_(std::move(file)) {}
  LiveFile(const LiveFile&) = delete;
  LiveFile& operator=(const LiveFile&) = delete;

  // A name for this file, in its slot 0: 0 if it has none yet.
  std::uint64_t id() const noexcept;
  void set_id(std::uint64_t id) const;

  core::Party take_slot();
  void give_back(const core::Party& party) noexcept;

  // Sure that it is dead; a party without a place never is.
  bool dead(const core::Party& party) const noexcept;
  // When it was seen alive last, in microseconds; 0: nobody knows.
  std::int64_t last_beat_us(const core::Party& party) const noexcept;
  void beat(const core::Party& party, std::int64_t now_us) const noexcept;
  // Whether any other process has a slot.
  bool others_live() const noexcept;

 private:
  bool lock(std::uint64_t slot) const;

  const Descriptor file_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> own_;  // slot to nonce: our own locks cannot be asked for
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
