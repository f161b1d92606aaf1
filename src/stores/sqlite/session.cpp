#include "stores/sqlite/session.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "core/text.hpp"
#include "stores/common/clock.hpp"
#include "stores/sqlite/trouble.hpp"

namespace holdfast::stores::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 4> suffixes{"", "-wal", "-shm", "-live"};

// Without /proc a reboot cannot be seen here; it is still seen by the locks that it dropped.
std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id.empty() ? "unknown" : id;
}

std::string time_namespace() {
  struct stat about {};
  return stat("/proc/self/ns/time", &about) == 0 ? std::to_string(about.st_ino) : "unknown";
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
  const std::string boot = boot_id(), clock = time_namespace(),
                    live = std::to_string(life.file().id());
  const bool same_boot = ledger.meta("boot_id") == boot;
  const bool same_clock = ledger.meta("time_namespace") == clock;
  const bool same_live = ledger.meta("live_id") == live;
  if (same_boot && same_clock && same_live) return;
  if (same_boot && !same_clock && life.file().others_live())
    refuse(Errc::invalid, "time_namespace",
           core::escaped(site.path()) +
               " is in use by processes of another time namespace; run both in the same one");
  if (!same_boot || !same_clock)
    ledger.forget_time(now_us());
  else
    ledger.forget_lives();
  ledger.set_meta("boot_id", boot);
  ledger.set_meta("time_namespace", clock);
  ledger.set_meta("live_id", live);
}

void Session::bury_dead(core::Admission& line, std::int64_t now_us) const {
  for (std::size_t i = 0; i < line.entries().size();) {
    const core::Party party = line.entries()[i].party;
    const std::size_t before = line.entries().size();
    if (party != life.party() && life.file().dead(party)) line.died(party, now_us);
    if (line.entries().size() == before) ++i;
  }
}

}  // namespace holdfast::stores::sqlite
