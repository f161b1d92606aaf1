#include "stores/sqlite/live.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "runtime/forks.hpp"
#include "stores/sqlite/trouble.hpp"

namespace holdfast::stores::sqlite {
namespace {

constexpr std::uint64_t slot_size = 16;
constexpr std::uint64_t first_tries =
    1024;  // take_slot() starts at random among these, so it needs few tries
constexpr std::uint64_t last_slot = 1 << 20;

off_t offset_of(std::uint64_t slot) { return static_cast<off_t>(slot * slot_size); }

struct flock range(short type, off_t start, off_t length) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = start;
  range.l_len = length;
  return range;
}

// One mutex guards opening and closing, because closing the file while another thread opens it
// again would drop the new locks.
struct Opened {
  struct File {
    Identity identity;
    std::unique_ptr<LiveFile> file;
    std::size_t users = 0;
  };
  std::mutex mutex;
  std::vector<File> files;

  LiveFile* find(const Identity& identity) {
    for (File& known : files) {
      if (known.identity != identity) continue;
      ++known.users;
      return known.file.get();
    }
    return nullptr;
  }
};

}  // namespace

std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (number == 0)
    if (getrandom(&number, sizeof number, 0) != sizeof number && errno != EINTR)
      refuse(Errc::unavailable, "no_randomness", "the kernel gave no random numbers");
  return number;
}

LiveFile& LiveFile::enter(const Site& site) {
  auto& opened = detail::per_process<Opened>();
  std::lock_guard lock(opened.mutex);
  if (const auto identity = identify(site.path() + "-live"))
    if (LiveFile* known = opened.find(*identity)) return *known;
  Descriptor file = site.open("-live", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (!file) refuse_errno(errno, "cannot_create", "open or create", site.path() + "-live");
  struct stat about {};
  if (fstat(file.get(), &about) != 0)
    refuse_errno(errno, "cannot_open", "open", site.path() + "-live");
  const Identity identity{about.st_dev, about.st_ino};
  if (LiveFile* known = opened.find(identity)) {
    // The file was moved here just now. The new descriptor stays open for good, because closing it
    // would drop our locks.
    file.release();
    return *known;
  }
  opened.files.push_back({identity, std::make_unique<LiveFile>(std::move(file)), 1});
  return *opened.files.back().file;
}

void LiveFile::leave() noexcept {
  auto& opened = detail::per_process<Opened>();
  std::lock_guard lock(opened.mutex);
  std::erase_if(opened.files, [&](Opened::File& known) {
    return known.file.get() == this && --known.users == 0;
  });
}

std::uint64_t LiveFile::id() const noexcept {
  std::uint64_t id = 0;
  return pread(file_.get(), &id, sizeof id, 0) == sizeof id ? id : 0;
}

void LiveFile::set_id(std::uint64_t id) const {
  if (pwrite(file_.get(), &id, sizeof id, 0) != sizeof id)
    refuse(Errc::unavailable, "disk_full", "cannot write to the -live file: make room on its disk");
}

bool LiveFile::lock(std::uint64_t slot) const {
  struct flock byte = range(F_WRLCK, offset_of(slot), 1);
  if (fcntl(file_.get(), F_SETLK, &byte) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  refuse(Errc::unavailable, "no_locks",
         "the kernel refused a lock on the -live file: " + std::to_string(errno));
}

core::Party LiveFile::take_slot() {
  const std::uint64_t nonce = random_number();
  std::lock_guard guard(mutex_);
  std::uint64_t slot = 1 + nonce % first_tries;
  while (own_.contains(slot) || !lock(slot))
    if (++slot > last_slot)
      refuse(Errc::unavailable, "too_many", "too many processes use this store");
  own_.emplace(slot, nonce);
  const std::uint64_t fresh[2] = {nonce, 0};  // 0: no beat yet
  if (pwrite(file_.get(), fresh, sizeof fresh, offset_of(slot)) != sizeof fresh) {
    own_.erase(slot);
    struct flock byte = range(F_UNLCK, offset_of(slot), 1);
    fcntl(file_.get(), F_SETLK, &byte);
    refuse(Errc::unavailable, "disk_full", "cannot write to the -live file: make room on its disk");
  }
  return {slot, nonce};
}

void LiveFile::give_back(const core::Party& party) noexcept {
  std::lock_guard guard(mutex_);
  own_.erase(party.place);
  struct flock byte = range(F_UNLCK, offset_of(party.place), 1);
  fcntl(file_.get(), F_SETLK, &byte);
}

bool LiveFile::dead(const core::Party& party) const noexcept {
  if (party.place == 0) return false;
  {
    std::lock_guard guard(mutex_);
    if (const auto own = own_.find(party.place); own != own_.end())
      return own->second != party.nonce;
  }
  struct flock byte = range(F_WRLCK, offset_of(party.place), 1);
  if (fcntl(file_.get(), F_GETLK, &byte) != 0) return false;
  if (byte.l_type == F_UNLCK) return true;
  std::uint64_t nonce = 0;
  return pread(file_.get(), &nonce, sizeof nonce, offset_of(party.place)) == sizeof nonce &&
         nonce != party.nonce;
}

std::int64_t LiveFile::last_beat_us(const core::Party& party) const noexcept {
  struct {
    std::uint64_t nonce = 0;
    std::int64_t beat_us = 0;
  } slot;
  const bool known = pread(file_.get(), &slot, sizeof slot, offset_of(party.place)) == sizeof slot;
  return known && slot.nonce == party.nonce ? slot.beat_us : 0;
}

// If the disk is full, the time of our death stays unknown, and a lock_delay is longer than asked
// for.
void LiveFile::beat(const core::Party& party, std::int64_t now_us) const noexcept {
  const auto behind_nonce = offset_of(party.place) + static_cast<off_t>(sizeof party.nonce);
  [[maybe_unused]] const auto written = pwrite(file_.get(), &now_us, sizeof now_us, behind_nonce);
}

bool LiveFile::others_live() const noexcept {
  struct flock all = range(F_WRLCK, offset_of(1), 0);
  return fcntl(file_.get(), F_GETLK, &all) != 0 || all.l_type != F_UNLCK;
}

Life::Life(const Site& site) : file_(LiveFile::enter(site)) {
  try {
    party_ = file_.take_slot();
  } catch (...) {
    file_.leave();
    throw;
  }
}

Life::~Life() {
  file_.give_back(party_);
  file_.leave();
}

}  // namespace holdfast::stores::sqlite
