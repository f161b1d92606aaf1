// lab/shrink.hpp: finds a plan with fewer faults that shows the same violation.
#pragma once

#include "lab/check/check.hpp"
#include "lab/play.hpp"

namespace holdfast::lab {

// Leaves out faults, then noise and rare branches, as long as the same checker still complains.
Plan shrink(Plan plan, Checker complains);

// All that a person needs: the seed, what went wrong, the shortest plan and its story.
std::string report(const Plan& plan, const Violation& violation);

}  // namespace holdfast::lab
