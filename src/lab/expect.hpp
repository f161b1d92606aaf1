// lab/expect.hpp: what the store of a plan promises under the faults of that plan.
#pragma once

#include "lab/check/expectation.hpp"
#include "lab/plan.hpp"

namespace holdfast::lab {

Expectation expectation_of(const Plan& plan);

}  // namespace holdfast::lab
