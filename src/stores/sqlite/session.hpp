// stores/sqlite/session.hpp: all that an open store has of its file, from its first use on.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "stores/sqlite/database.hpp"
#include "stores/sqlite/ledger.hpp"
#include "stores/sqlite/live.hpp"
#include "stores/sqlite/post.hpp"
#include "stores/sqlite/site.hpp"

namespace holdfast::stores::sqlite {

struct Session {
  // Throws Trouble or SqlFailure.
  Session(const std::string& path, BootTime deadline);

  // The files are still those that were opened. If not, there are two worlds, and ours is the dead
  // one for good. The database is looked at each time, its companions every 20 ms at most.
  bool intact() noexcept;

  // In the first transaction: makes sure that the stamps in the file are of our boot and our clock.
  void settle_in();

  // Drops from the line what belongs to the dead.
  void bury_dead(core::Admission& line, std::int64_t now_us) const;

  Site site;
  Database database;
  Life life;
  Post post;
  Ledger ledger;
  bool settled = false;

 private:
  bool note(std::string_view key, const std::string& value);
  std::int64_t death_of(const core::Party& party, std::int64_t now_us) const noexcept;

  struct Opened {
    std::string path;
    Identity identity;
  };
  std::array<Opened, 4> opened_;
  BootTime companions_checked_{};
  bool intact_ = true;
};

}  // namespace holdfast::stores::sqlite
