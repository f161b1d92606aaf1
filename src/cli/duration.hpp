// Durations as people write them: 1500ms, 30s, 5m, 2h.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/result.hpp"

namespace holdfast::cli {

// Accepts a whole number with a unit, at most 2^63 nanoseconds. Throws a Failure that calls the
// duration `what`.
Millis parse_duration(std::string_view text, std::string_view what);

// For people: 350ms, 12s, 5m 3s, 2h 10m, 3d 4h.
std::string spoken(Millis duration);

}  // namespace holdfast::cli
