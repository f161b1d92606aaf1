#include "stores/sqlite/session.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/text.hpp"
#include "stores/common/clock.hpp"
#include "stores/sqlite/trouble.hpp"

namespace holdfast::stores::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 4> suffixes{"", "-wal", "-shm", "-live"};

// Empty if unknown, as without /proc. That must not count as another boot, because processes that
// know the boot may be using the file. A reboot still shows then, because it dropped all locks.
std::string boot_id() {
  const char* const path = "/proc/sys/kernel/random/boot_id";
  const Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
  if (!file && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
    refuse_errno(errno, "cannot_open", "read", path);
  std::array<char, 36> id;
  const bool known = read(file.get(), id.data(), id.size()) == std::ssize(id);
  return known ? std::string(id.data(), id.size()) : std::string();
}

std::string time_namespace() {
  struct stat about {};
  return stat("/proc/self/ns/time", &about) == 0 ? std::to_string(about.st_ino) : std::string();
}

}  // namespace

Session::Session(const std::string& path, BootTime deadline)
    : site(path), database(site, deadline), life(site), post(site, life), ledger(database) {
  site.check_companions();
  for (std::size_t i = 0; i < suffixes.size(); ++i) {
    opened_[i].path = site.path() + std::string(suffixes[i]);
    const auto identity = identify(opened_[i].path);
    if (!identity)
      refuse(Errc::corrupt, "replaced",
             core::escaped(opened_[i].path) + " vanished while it was opened; try again");
    opened_[i].identity = *identity;
  }
}

bool Session::intact() noexcept {
  const auto same = [](const Opened& file) { return identify(file.path) == file.identity; };
  const BootTime now = BootClock::now();
  const bool all = now - companions_checked_ >= 20ms;
  if (all) companions_checked_ = now;
  intact_ =
      intact_ && std::all_of(opened_.begin(), all ? opened_.end() : opened_.begin() + 1, same);
  return intact_;
}

void Session::settle_in() {
  if (life.file().id() == 0) life.file().set_id(random_number());
  const bool same_boot = note("boot_id", boot_id());
  const bool same_clock = note("time_namespace", time_namespace());
  const bool same_live = note("live_id", std::to_string(life.file().id()));
  if (same_boot && !same_clock && life.file().others_live())
    refuse(Errc::invalid, "time_namespace",
           core::escaped(site.path()) +
               " is in use by processes of another time namespace; run both in the same one");
  if (!same_boot || !same_clock)
    ledger.forget_time(now_us());
  else if (!same_live)
    ledger.forget_lives();
}

// True if the file had that value already, or if there is nothing to note.
bool Session::note(std::string_view key, const std::string& value) {
  if (value.empty() || ledger.meta(key) == value) return true;
  ledger.set_meta(key, value);
  return false;
}

// The latest moment at which it can have died.
std::int64_t Session::death_of(const core::Party& party, std::int64_t now_us) const noexcept {
  const std::int64_t seen_us = life.file().last_beat_us(party);
  if (seen_us == 0) return now_us;
  return std::min(now_us, seen_us + std::chrono::microseconds(Life::pace).count());
}

void Session::bury_dead(core::Admission& line, std::int64_t now_us) const {
  for (std::size_t i = 0; i < line.entries().size();) {
    const core::Party party = line.entries()[i].party;
    const std::size_t before = line.entries().size();
    if (party != life.party() && life.file().dead(party)) line.died(party, death_of(party, now_us));
    if (line.entries().size() == before) ++i;
  }
}

}  // namespace holdfast::stores::sqlite
