// stores/sqlite/watches.hpp: whose death the claims that wait here would like to know of.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/admission.hpp"
#include "stores/sqlite/live.hpp"

namespace holdfast::stores::sqlite {

// Looks at the bytes of the -live file now and then, without the database: every 20 ms for the head
// of a line, every 100 ms for the others, who look at the one before them.
class Watches {
 public:
  struct Watch {
    std::string name;
    ClaimId claim{};
    std::vector<core::Party> parties;
    bool head = false;
  };
  // True if somebody has to look earlier than before.
  bool set(Watch watch);
  void drop(const ClaimId& claim) noexcept;

  // The names whose watched parties died, each told once; `again`: when to look next.
  std::vector<std::string> check(const LiveFile& live, BootTime now, BootTime& again);

 private:
  std::vector<core::Party> due(BootTime now, BootTime& again);

  std::mutex mutex_;
  std::vector<Watch> watches_;
  BootTime due_ = BootTime::max();
};

}  // namespace holdfast::stores::sqlite
