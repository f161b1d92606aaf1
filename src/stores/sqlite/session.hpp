// stores/sqlite/session.hpp: a store's open files and what belongs to them, from its first use on.
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

  // True while the files are those that we opened. Otherwise there are two sets of files, and ours
  // is the dead one for good. Looks at the database each time, at its companions every 20 ms at
  // most.
  bool intact() noexcept;

  // In the first transaction: makes sure that the stamps in the file are of our boot and our clock.
  void settle_in();

  // Ends the claims of dead parties in this line.
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
