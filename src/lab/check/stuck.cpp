// Stuck: at the end, no process has a call, a debt or a timer left.
#include "lab/check/account.hpp"

namespace holdfast::lab {

void check_stuck(const Account& account, const Expectation&, Violations& found) {
  for (const Event& event : account.events())
    if (event.what == What::left)
      found.push_back({Checker::stuck,
                       lock(event.name) + ": process " + std::to_string(event.process) +
                           " is left with " + event.note,
                       event.at});
}

}  // namespace holdfast::lab
