// stores/sqlite/watches.hpp: the parties whose death may let in a claim that waits here.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/admission.hpp"
#include "stores/sqlite/live.hpp"

namespace holdfast::stores::sqlite {

// Looks at their bytes in the -live file, without the database: every 20 ms for the head of a line,
// every 100 ms for the others, each of which watches the one before it.
class Watches {
 public:
  struct Watch {
    std::string name;
    ClaimId claim{};
    std::vector<core::Party> parties;
    bool head = false;
  };
  // True if the next look must come earlier than before.
  bool set(Watch watch);
  void drop(const ClaimId& claim) noexcept;

  // The names of the watches with a dead party, each watch told once; `again`: when to look next.
  std::vector<std::string> check(const LiveFile& live, BootTime now, BootTime& again);

 private:
  std::vector<core::Party> due(BootTime now, BootTime& again);

  std::mutex mutex_;
  std::vector<Watch> watches_;
  BootTime due_ = BootTime::max();
};

}  // namespace holdfast::stores::sqlite
