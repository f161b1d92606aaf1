// lab/shrink.hpp: the same violation with as few faults as will do.
#pragma once

#include "lab/check/check.hpp"
#include "lab/play.hpp"

namespace holdfast::lab {

// Leaves out faults, and then noise and rare branches, while the same checker still complains.
Plan shrink(Plan plan, Checker complains);

// All that a person needs: the seed, what went wrong, the shortest plan, its story.
std::string report(const Plan& plan, const Violation& violation);

}  // namespace holdfast::lab
