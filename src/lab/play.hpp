// lab/play.hpp: plays a plan: the product's own core in simulated processes, against a simulated
// store, on virtual time. The same plan always gives the same story.
#pragma once

#include "lab/check/expectation.hpp"
#include "lab/history.hpp"
#include "lab/plan.hpp"

namespace holdfast::lab {

struct Story {
  History history;
  Expectation expected;
  std::uint64_t hash = 0;
  std::uint64_t steps = 0;  // simulated events
};

struct Recording {
  bool wire = false;  // record messages too, for pictures
};
Story play(const Plan& plan, Recording recording = {});

}  // namespace holdfast::lab
